#!/usr/bin/env bash
# Finding 4 of run 20260102-030405-replay, scenario replay: abuse.counts
#
# The document demands:
#   Every status other than a success counts.
# Turnpike saw (3 times):
#   a request got status 200, expected a block of 30 s
#
# This script sends 3 requests of that run again, in their order and at their times: the last one
# after 300 ms. Requests that overlapped overlap again. They cost what such requests cost.
# Decisive: the response to request 4.
#
# Variables:
#   TURNPIKE_TARGET: the base URL; by default http://127.0.0.1:8402/api/v1, the target of the run
#   TURNPIKE_KEY: the API key of caller c1
#   TURNPIKE_OTHER_KEY: the API key of caller c0
#   TURNPIKE_RUN: the start of idempotency keys; by default a new one

target=$TURNPIKE_TARGET
[ -n "$target" ] || target='http://127.0.0.1:8402/api/v1'
[ -n "$TURNPIKE_RUN" ] || TURNPIKE_RUN=again-$$-$RANDOM
[ -n "$TURNPIKE_KEY" ] || { echo 'Set TURNPIKE_KEY to an API key. The top of this script explains it.' >&2; exit 2; }
[ -n "$TURNPIKE_OTHER_KEY" ] || { echo 'Set TURNPIKE_OTHER_KEY to an API key. The top of this script explains it.' >&2; exit 2; }
shown='^(date|cf-ray|x-request-id|retry-after|idempotent-replayed):'
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Milliseconds. Bash 5 knows them; an older one waits for whole seconds.
now() {
  local seconds micros
  if [ -z "$EPOCHREALTIME" ]; then echo $(($(date +%s) * 1000)); return; fi
  IFS=., read -r seconds micros <<<"$EPOCHREALTIME"
  echo $((seconds * 1000 + 10#$micros / 1000))
}

# Waits until that many milliseconds after the start.
at() {
  local left=$(($1 - $(now) + started))
  if [ "$left" -gt 0 ]; then sleep "$((left / 1000)).$(printf '%03d' $((left % 1000)))"; fi
}

# Sends a request: its number, its path, and arguments of curl.
send() {
  local id=$1 path=$2
  shift 2
  date -u +%Y-%m-%dT%H:%M:%SZ >"$work/$id.sent"
  curl -q -g -sS -N -D "$work/$id.headers" -o "$work/$id.body" -w '%{http_code} after %{time_total} s' \
    "$@" "$target$path" >"$work/$id.status" 2>"$work/$id.error"
}

# Text of the target cannot control the terminal.
plain() { LC_ALL=C tr -d '\000-\010\013-\037\177'; }

# Shows a response: the number of the request, what Turnpike saw, and how many bytes of the body.
show() {
  local id=$1 body=$work/$1.body
  echo "request $id, sent at $(cat "$work/$id.sent"): $(cat "$work/$id.status") ($2)"
  plain <"$work/$id.error"
  if [ -f "$work/$id.headers" ]; then plain <"$work/$id.headers" | grep -iE "$shown" | sed 's/^/  /'; fi
  if [ "$3" -gt 0 ] && [ -f "$body" ]; then
    if [ "$(wc -c <"$body")" -le "$3" ]; then plain <"$body" | sed 's/^/  /'
    else { head -c $(($3 / 2)) "$body"; echo; echo '[...]'; tail -c $(($3 / 2)) "$body"; } | plain | sed 's/^/  /'; fi
    echo
  fi
}

printf '%s' '{"jsonrpc":"2.0","id":0,"method":"eth_blockNumber","params":[]}' >"$work/1.request"
printf '%s' '{"jsonrpc":"2.0","id":0,"method":"eth_blockNumber","params":[]}' >"$work/2.request"
printf '%s' '{"jsonrpc":"2.0","id":1,"method":"eth_noSuchMethod","params":[]}' >"$work/4.request"
started=$(now)

# c0, call again
at 0
send 1 '/crypto/rpc/ethereum-mainnet' -X POST --max-time 35 -H 'content-type: application/json' -H 'accept: application/json' -H 'idempotency-key: '"$TURNPIKE_RUN"'-1' -H 'authorization: Bearer '"$TURNPIKE_OTHER_KEY" --data-binary @"$work/1.request" &
pid_1=$!

# c1, call again
at 10
send 2 '/crypto/rpc/ethereum-mainnet' -X POST --max-time 35 -H 'content-type: application/json' -H 'accept: application/json' -H 'idempotency-key: '"$TURNPIKE_RUN"'-1' -H 'authorization: Bearer '"$TURNPIKE_KEY" --data-binary @"$work/2.request" &
pid_2=$!
wait "$pid_1"
show 1 'Turnpike saw: answered 400' 0
wait "$pid_2"
show 2 'Turnpike saw: answered 400' 0

# c1, call refused
at 300
send 4 '/crypto/rpc/avalanche-fuji' -X POST --max-time 30 -H 'content-type: application/json' -H 'accept: application/json' -H 'authorization: Bearer '"$TURNPIKE_KEY" --data-binary @"$work/4.request"
show 4 'Turnpike saw: answered 400; THIS DECIDES' 4000

echo 'Turnpike saw: a request got status 200, expected a block of 30 s. Look at request 4. The document demands: Every status other than a success counts.'
