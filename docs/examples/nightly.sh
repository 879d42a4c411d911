#!/usr/bin/env bash
# A nightly gate: runs one scenario, compares it with the last nights that passed, and keeps tonight if it passed.
#
#   TURNPIKE_KEYS=… TURNPIKE_TARGET=https://staging.example.com/api/v1 bash nightly.sh [flags of turnpike run]
#
# It ends with the exit code of the run. Further settings, all optional:
#   SCENARIO             a file, or the name of a shipped scenario   (turnpike/scenario.yaml)
#   PROFILE              a profile, if the scenario names none
#   TURNPIKE_BUDGET_USD  maximum spend of the run                    (the budget of the scenario)
#   RUNS                 folder of all runs, whatever their verdict  (runs)
#   BASELINES            folder of the runs that passed              (turnpike-baselines)
#   KEEP                 how many of those to keep                   (5)
#   INCONCLUSIVE         fail, or warn: then exit code 3 becomes 0   (fail)
set -euo pipefail

target=${TURNPIKE_TARGET:?set it to the base address of the service, such as https://staging.example.com/api/v1}
scenario=${SCENARIO:-turnpike/scenario.yaml}
profile=${PROFILE:-}
keep=${KEEP:-5}
name=$(basename "$scenario" .yaml)
now=$(date -u +%Y%m%dT%H%M%SZ)
run=${RUNS:-runs}/$now-$name
baselines=${BASELINES:-turnpike-baselines}

# Without --no-install, npx would download a package of this name if none is installed.
turnpike() { npx --no-install turnpike "$@"; }

# Turnpike refuses to compare runs of different plans. So a change of the scenario, of a file beside it, of the profile, or
# of the version of Turnpike starts a new series of baselines.
identity() {
  turnpike --version
  if [ -f "$scenario" ]; then cat "$(dirname "$scenario")"/*.yaml; fi
  if [ -f "$profile" ]; then cat "$profile"; else echo "$profile"; fi
}
series=$baselines/$name-$(identity | cksum | cut -d ' ' -f 1)

arguments=(run "$scenario" --target "$target" --out "$run")
if [ -n "$profile" ]; then arguments+=(--profile "$profile"); fi
if [ -n "${TURNPIKE_BUDGET_USD:-}" ]; then arguments+=(--budget-usd "$TURNPIKE_BUDGET_USD"); fi
found=0
for baseline in "$series"/*/; do
  if [ -d "$baseline" ]; then
    arguments+=(--baseline "${baseline%/}")
    found=$((found + 1))
  fi
done
echo "Baselines in $series: $found" >&2

code=0
turnpike "${arguments[@]}" "$@" || code=$?

case $code in
  0)
    # Only a run that passed becomes a baseline: a worse night must not become the standard.
    rm -rf "$series/.new"
    mkdir -p "$series/.new"
    cp "$run/plan.json" "$run/contract.json" "$run/report.json" "$run/slices.json" "$series/.new/"
    mv "$series/.new" "$series/$now"
    for other in "$baselines/$name"-*/; do
      if [ "${other%/}" != "$series" ]; then rm -r "$other"; fi
    done
    kept=("$series"/*/)
    for oldest in "${kept[@]}"; do
      if ((${#kept[@]} <= keep)); then break; fi
      rm -r "$oldest"
      kept=("${kept[@]:1}")
    done
    echo "Kept as a baseline: $series/$now" >&2
    ;;
  1) echo 'The service violated a rule, crossed a threshold, or has regressed. This run is no baseline.' >&2 ;;
  2) echo 'No load was sent: a setting is wrong.' >&2 ;;
  3)
    echo 'Inconclusive: nothing was wrong, but the run proves less than it should. This run is no baseline.' >&2
    if [ "${INCONCLUSIVE:-fail}" = warn ]; then code=0; fi
    ;;
  *) echo "The run ended with exit code $code." >&2 ;;
esac
exit "$code"
