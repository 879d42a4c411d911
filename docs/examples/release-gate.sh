#!/usr/bin/env bash
# A release gate: first the documented rules, then the load, compared with the releases before. Only a pass is a pass.
#
#   TURNPIKE_KEYS=… TURNPIKE_TARGET=https://staging.example.com/api/v1 bash release-gate.sh [flags of turnpike run]
#
# It ends with 0 only if the candidate may be released, and needs nightly.sh beside it. Its settings are those of
# nightly.sh, except BASELINES, INCONCLUSIVE, and these:
#   RULES          shipped scenarios or files that prove the rules   (smoke)
#   RELEASES       folder of the releases that passed                (turnpike-baselines/releases)
#   PAUSE_SECONDS  between the two, so that limits start afresh      (61)
set -euo pipefail

target=${TURNPIKE_TARGET:?set it to the base address of the service, such as https://staging.example.com/api/v1}
runs=${RUNS:-runs}

read -r -a rules <<<"${RULES:-smoke}"
for rule in "${rules[@]}"; do
  arguments=(run "$rule" --target "$target" --out "$runs/$(date -u +%Y%m%dT%H%M%SZ)-rules-$(basename "$rule" .yaml)")
  if [ -n "${PROFILE:-}" ]; then arguments+=(--profile "$PROFILE"); fi
  if [ -n "${TURNPIKE_BUDGET_USD:-}" ]; then arguments+=(--budget-usd "$TURNPIKE_BUDGET_USD"); fi
  npx --no-install turnpike "${arguments[@]}" "$@"
  sleep "${PAUSE_SECONDS:-61}"
done

# Unlike a night, a release that proved nothing is never let through.
export BASELINES=${RELEASES:-turnpike-baselines/releases} INCONCLUSIVE=fail
exec bash "$(dirname "$0")/nightly.sh" "$@"
