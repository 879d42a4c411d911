import { secretAdditions } from '../contract/requests/additions.ts'
import { keyHeader, keyHeaders } from '../contract/requests/credentials.ts'
import type { Rail } from '../contract/wallets.ts'
import type { JudgedPlan } from '../judge/compare/comparable.ts'
import { formatDuration, plural } from '../lib/format.ts'
import { wrap } from '../lib/text-layout.ts'
import { oneLine } from '../lib/visible.ts'
import { keyCallers, type Plan, systemCallsOf, traitsOf } from '../plan/plan.ts'
import { specialKeyVariables } from '../produce/callers/api-keys.ts'
import type { BuiltRequest } from '../produce/calls/call.ts'
import { buildRequest } from '../produce/calls/kinds.ts'
import type { Report, ReportedExample } from '../report/document.ts'
import { relevantHeaders } from '../report/sections/findings.ts'
import { headerWord, quoted, shellText, variable } from './curl.ts'
import { promptOf } from './evidence.ts'
import { type SignedRequest, signInSteps } from './repro-sign-in.ts'
import type { Sequence, SequenceRequest } from './sequence.ts'

/** What a script repeats: one example of a finding or of a discrepancy. */
export type Repeated = {
  readonly number: number
  /** The clause, or the kind of the discrepancy. */
  readonly name: string
  /** The sentence of the document, if there is one. */
  readonly text: string | null
  readonly example: ReportedExample
  readonly run: Report['run']
}

/**
 * A script for bash and curl that sends the requests of an example again, in their order and at their times. Requests
 * that overlapped overlap again. It holds no key and no secret: keys, target, and idempotency keys come from variables.
 */
export function reproScript(repeated: Repeated, sequence: Sequence, judged: JudgedPlan): string {
  const names = variablesOf(sequence.requests, judged)
  const areKeysOptional = !judged.contract.auth.required && !hadKeys(repeated, judged)
  const firstMs = sequence.requests[0]?.sentMs ?? 0
  const sent = sequence.requests.map(request => ({
    ...request,
    ...built(request, names, judged, areKeysOptional),
    firstMs,
  }))
  const signed = sent.flatMap(({ signed }) => signed ?? [])
  const used = new Set([...sent.flatMap(({ variables }) => variables), ...signed.map(({ variable }) => variable)])
  const special = Object.values(specialKeyVariables).map((name): Variable => {
    return { name, value: 'an API key', text: 'the API key of an account of that kind' }
  })
  const added = secretAdditions(judged.contract).map(({ place, name, variable }): Variable => {
    return { name: variable, value: `the value of a ${place}`, text: `the value of the ${place} ${name}` }
  })
  const variables = [...names.all, ...special, ...added].filter(({ name }) => used.has(name))
  const required = variables.filter(each => !isOptional(each, areKeysOptional))
  const shownNames = [...new Set([...alwaysShown, ...relevantNames(repeated)])]
  return [
    '#!/usr/bin/env bash',
    ...comments(repeated, sequence, { variables, signed, areKeysOptional }, judged),
    '',
    'target=$TURNPIKE_TARGET',
    `[ -n "$target" ] || target=${quoted(repeated.run.target)}`,
    `[ -n "$TURNPIKE_RUN" ] || TURNPIKE_RUN=again-$$-$RANDOM`,
    ...required.map(
      ({ name, value }) =>
        `[ -n "$${name}" ] || { echo 'Set ${name} to ${value}. The top of this script explains it.' >&2; exit 2; }`,
    ),
    `shown='^(${shownNames.join('|')}):'`,
    ...helpers,
    '',
    ...signInSteps(signed, judged.contract.wallets.signIn),
    ...sent.flatMap(({ id, body }) => (body === null ? [] : [`printf '%s' ${quoted(body)} >"$work/${id}.request"`])),
    'started=$(now)',
    ...steps(sent),
    '',
    `echo ${quoted(lastLine(repeated, sequence))}`,
    '',
  ].join('\n')
}

/** The service finds a request in its logs by some of these, and others often decide. */
const alwaysShown = ['date', 'cf-ray', 'x-request-id', 'retry-after', 'idempotent-replayed']

/** Names come from the target, so only plain ones become part of a pattern. */
const relevantNames = ({ name, example: { message, evidence } }: Repeated): readonly string[] =>
  evidence
    .flatMap(({ headers }) => relevantHeaders(headers, `${name} ${message}`).map(([header]) => header))
    .filter(header => /^[a-z][a-z0-9-]{0,60}$/.test(header))

const helpers = [
  'work=$(mktemp -d) || exit 1',
  `trap 'rm -rf "$work"' EXIT`,
  '',
  '# Milliseconds. Bash 5 knows them; an older one waits for whole seconds.',
  'now() {',
  '  local seconds micros',
  '  if [ -z "$EPOCHREALTIME" ]; then echo $(($(date +%s) * 1000)); return; fi',
  '  IFS=., read -r seconds micros <<<"$EPOCHREALTIME"',
  '  echo $((seconds * 1000 + 10#$micros / 1000))',
  '}',
  '',
  '# Waits until that many milliseconds after the start.',
  'at() {',
  '  local left=$(($1 - $(now) + started))',
  `  if [ "$left" -gt 0 ]; then sleep "$((left / 1000)).$(printf '%03d' $((left % 1000)))"; fi`,
  '}',
  '',
  '# Sends a request: its number, its path, and arguments of curl.',
  'send() {',
  '  local id=$1 path=$2',
  '  shift 2',
  `  date -u +%Y-%m-%dT%H:%M:%SZ >"$work/$id.sent"`,
  '  curl -q -g -sS -N -D "$work/$id.headers" -o "$work/$id.body" -w \'%{http_code} after %{time_total} s\' \\',
  '    "$@" "$target$path" >"$work/$id.status" 2>"$work/$id.error"',
  '}',
  '',
  '# Text of the target cannot control the terminal.',
  "plain() { LC_ALL=C tr -d '\\000-\\010\\013-\\037\\177'; }",
  '',
  '# Shows a response: the number of the request, what Turnpike saw, and how many bytes of the body.',
  'show() {',
  '  local id=$1 body=$work/$1.body',
  `  echo "request $id, sent at $(cat "$work/$id.sent"): $(cat "$work/$id.status") ($2)"`,
  '  plain <"$work/$id.error"',
  '  if [ -f "$work/$id.headers" ]; then plain <"$work/$id.headers" | grep -iE "$shown" | sed \'s/^/  /\'; fi',
  '  if [ "$3" -gt 0 ] && [ -f "$body" ]; then',
  '    if [ "$(wc -c <"$body")" -le "$3" ]; then plain <"$body" | sed \'s/^/  /\'',
  '    else { head -c $(($3 / 2)) "$body"; echo; echo \'[...]\'; tail -c $(($3 / 2)) "$body"; } | plain | sed \'s/^/  /\'; fi',
  '    echo',
  '  fi',
  '}',
]

/** The responses that decide show this much of their body. */
const maxBodyBytes = 4_000

type Sent = SequenceRequest & {
  /** As a word of the shell. */
  readonly path: string
  /** Arguments of curl. */
  readonly options: readonly string[]
  readonly body: string | null
  /** The variables that the arguments name. */
  readonly variables: readonly string[]
  /** null: the request has no sign-in. */
  readonly signed: SignedRequest | null
  readonly firstMs: number
}

/** Each request at its time. A request that had ended before another one was sent ends before it again. */
function steps(sent: readonly Sent[]): readonly string[] {
  const lines: string[] = []
  /** Requests that overlap with a later one. */
  let running: readonly Sent[] = []
  const finish = ({ id, outcome, decides }: Sent) => {
    const seen = outcome === null ? 'not recorded' : `Turnpike saw: ${oneLine(outcome)}`
    const what = `${seen}${decides ? '; THIS DECIDES' : ''}`
    return `show ${id} ${quoted(what)} ${decides ? maxBodyBytes : 0}`
  }
  const wait = (request: Sent) => [`wait "$pid_${request.id}"`, finish(request)]
  for (const [index, request] of sent.entries()) {
    const { id, path, options, sentMs, firstMs, caller, call } = request
    const ended = running.filter(({ endMs }) => endMs !== null && endMs <= sentMs)
    running = running.filter(each => !ended.includes(each))
    const next = sent[index + 1]
    const overlaps = running.length > 0 || (next !== undefined && request.endMs !== null && request.endMs > next.sentMs)
    lines.push(
      ...ended.flatMap(wait),
      '',
      `# ${oneLine(`${caller}, call ${call}`)}`,
      `at ${Math.max(0, Math.round(sentMs - firstMs))}`,
      `send ${[String(id), path, ...options].join(' ')}${overlaps ? ' &' : ''}`,
    )
    if (overlaps) {
      lines.push(`pid_${id}=$!`)
      running = [...running, request]
    } else lines.push(finish(request))
  }
  return [...lines, ...running.flatMap(wait)]
}

/** A secret that a script needs. */
type Variable = {
  readonly name: string
  readonly value:
    | 'an API key'
    | 'a private key'
    | 'a signed payment'
    | 'the value of a header'
    | 'the value of a parameter'
  /** What it is exactly. */
  readonly text: string
}

/** Each secret with its variable, in the order of first use; the caller whose request decides comes first. */
type Variables = { readonly all: readonly Variable[]; readonly of: (request: SequenceRequest) => Variable }

function variablesOf(requests: readonly SequenceRequest[], judged: JudgedPlan): Variables {
  const ordered = [...requests.filter(({ decides }) => decides), ...requests]
  const callers = [...new Set(ordered.map(({ caller }) => caller))]
  const isWallet = (caller: string) => railOf(caller, judged) !== null
  const nameOf = (what: string, caller: string) => {
    const position = callers.filter(each => isWallet(each) === isWallet(caller)).indexOf(caller)
    return [`TURNPIKE_${what}`, `TURNPIKE_OTHER_${what}`][position] ?? `TURNPIKE_${what}_OF_CALLER_${position + 1}`
  }
  const of = ({ caller, key, step }: SequenceRequest): Variable => {
    if (!isWallet(caller)) {
      const name = nameOf('KEY', caller)
      const text = key === 0 ? 'the API key' : `API key ${key + 1}`
      return { name: key === 0 ? name : `${name}_${key + 1}`, value: 'an API key', text: `${text} of caller ${caller}` }
    }
    if (step !== 'payment') {
      const text = `the private key of wallet ${caller}, or of another one of its chain. Node.js signs in with it, and needs the package viem for an EVM chain`
      return { name: nameOf('WALLET_KEY', caller), value: 'a private key', text }
    }
    const header = judged.contract.wallets.topUp.paymentHeader
    const text = `a payment of wallet ${caller}, signed, as the value of ${header}. All its payments here are this one`
    return { name: nameOf('PAYMENT_SIGNATURE', caller), value: 'a signed payment', text }
  }
  return { all: [...new Map(ordered.map(of).map(each => [each.name, each])).values()], of }
}

/** The chain of a caller with a wallet; null for others. */
function railOf(caller: string, { plan: { callers }, contract }: JudgedPlan): Rail | null {
  const position = callers.names.indexOf(caller) - keyCallers(callers)
  const chain = position < 0 ? undefined : callers.wallets?.chains[position]
  return chain === undefined ? null : (contract.wallets.rails[chain] ?? null)
}

/** The run id in idempotency keys: a key that was used before would get a replay. */
const runVariable = '$TURNPIKE_RUN'

function built(
  request: SequenceRequest,
  names: Variables,
  { plan, contract }: JudgedPlan,
  areKeysOptional: boolean,
): Pick<Sent, 'path' | 'options' | 'body' | 'variables' | 'signed'> {
  const calls: Plan['calls'] = { ...plan.calls, ...systemCallsOf(plan) }
  const call = calls[request.call]
  if (call === undefined) throw new RangeError(`no call named ${request.call}`)
  const as = traitsOf(call).sender
  const isOfSpecial = as === 'free-user' || as === 'zero-balance'
  const name = isOfSpecial ? specialKeyVariables[as] : names.of(request).name
  const { bounds, seed, callers: planned } = plan
  const context = { contract, bounds, seed, planned, runId: runVariable }
  const rail = railOf(request.caller, { plan, contract })
  const wallet = rail === null ? undefined : { chain: '', address: addressOf }
  const { signIn, topUp } = contract.wallets
  const credentials =
    rail === null || isOfSpecial ? keyHeaders(contract.auth, `$${name}`) : { [signIn.header]: signInOf(request.id) }
  const wire: BuiltRequest['request'] = buildRequest(
    call,
    { ...request, prompt: promptOf(request, request.stage, plan), wallet },
    credentials,
    context,
  ).request
  const { method, path, body, timeouts } = wire
  const headers =
    rail !== null && request.step === 'payment' ? { ...wire.headers, [topUp.paymentHeader]: `$${name}` } : wire.headers
  const signed =
    rail !== null && headers[signIn.header] === signInOf(request.id) ? { id: request.id, variable: name, rail } : null
  // Turnpike sends no header that curl would add by itself.
  const added = [
    'accept',
    ...(body === null ? [] : ['content-type']),
    ...((body?.length ?? 0) > 100_000 ? ['expect'] : []),
  ]
  const options = [
    `-X ${method} --max-time ${Math.ceil(timeouts.totalMs / 1000)}`,
    ...Object.entries(headers).map(([header, value]) => {
      if (signed !== null && header === signIn.header) return `-H ${value}`
      const option = `-H ${headerWord(header, value)}`
      // Where keys are optional, a variable without a value means that there is no key.
      return areKeysOptional && header === keyHeader(contract.auth) && value.endsWith(`$${name}`)
        ? `\${${name}:+${option}}`
        : option
    }),
    ...added.filter(header => !(header in headers)).map(header => `-H '${header}:'`),
    ...(body === null ? [] : [`--data-binary @"$work/${request.id}.request"`]),
  ]
  const variables = [path, ...Object.values(headers)].flatMap(text => text.match(variable) ?? [])
  return {
    path: path.split(addressOf).map(shellText).join(`"$(cat "$work/${request.id}.address")"`),
    options,
    body,
    variables: variables.map(each => each.slice(1)),
    signed,
  }
}

/** Stands in a path for the address of the wallet, which the script knows when it has signed in. */
const addressOf = '{address of the wallet}'
/** The header of a request, from its file. */
const signInOf = (id: number): string => `@"$work/${id}.sign-in"`

const page = { columns: 100, color: false }

/** Comments cannot end: each is one line of visible text. */
const comment = (text: string, indent = 0): readonly string[] =>
  wrap({ ...page, columns: page.columns - 2 }, text, indent).map(line => `# ${line}`)

type Needs = {
  readonly variables: readonly Variable[]
  readonly signed: readonly SignedRequest[]
  readonly areKeysOptional: boolean
}

function comments(
  { number, name, text, example, run }: Repeated,
  { requests, missing, omitted, added }: Sequence,
  { variables, signed, areKeysOptional }: Needs,
  { plan, contract }: JudgedPlan,
): readonly string[] {
  const deciding = requests.filter(({ decides }) => decides)
  const unrecorded = requests.filter(({ outcome }) => outcome === null)
  const traces = example.evidence.flatMap(({ id, traceId }) => (traceId === null ? [] : [{ id, traceId }]))
  const lastMs = (requests.at(-1)?.sentMs ?? 0) - (requests[0]?.sentMs ?? 0)
  return [
    `# Finding ${number} of run ${oneLine(run.id)}, scenario ${oneLine(run.scenario)}: ${oneLine(name)}`,
    '#',
    ...(text === null ? [] : ['# The document demands:', ...comment(text, 2)]),
    `# Turnpike saw (${plural(example.count, 'time')}):`,
    ...comment(example.message, 2),
    '#',
    ...comment(
      `This script sends ${plural(requests.length, 'request')} of that run again, in their order and at their times: the last one after ${formatDuration(lastMs)}. Requests that overlapped overlap again. They cost what such requests cost.`,
    ),
    ...(added === 0
      ? []
      : comment(`The finding does not cite ${added} of them. They count toward the limit of a caller who got a 429.`)),
    ...(deciding.length === 0 ? [] : comment(`Decisive: the response to ${listed(deciding.map(({ id }) => id))}.`)),
    ...(traces.length === 0 ? [] : comment('Trace ids of that run, which this script does not send again:')),
    ...traces.map(({ id, traceId }) => `#   request ${id}: ${oneLine(traceId)}`),
    ...(unrecorded.length === 0
      ? []
      : comment(
          `NOT RECORDED: the run kept no record of ${listed(unrecorded.map(({ id }) => id))}. The script builds them again from the plan, at the times of the plan.`,
        )),
    ...(missing.length === 0
      ? []
      : comment(
          `INCOMPLETE: the run kept no record of ${listed(missing)}, and the plan does not decide them. With "record: all", a run records every request.`,
        )),
    ...(signed.length === 0 || lastMs < contract.wallets.signIn.validityMs
      ? []
      : comment(
          `INCOMPLETE: the script signs in before its first request, and a sign-in is valid for ${formatDuration(contract.wallets.signIn.validityMs)}.`,
        )),
    ...(omitted === 0
      ? []
      : comment(`INCOMPLETE: the report does not list ${plural(omitted, 'earlier request')} that led to it.`)),
    '#',
    '# Variables:',
    ...comment(`TURNPIKE_TARGET: the base URL; by default ${run.target}, the target of the run`, 2),
    ...(plan.target === null
      ? comment('That was the embedded reference service, which has ended. Start one with: turnpike service', 4)
      : []),
    ...variables.flatMap(({ name: variableName, value, text: what }) => {
      const note = isOptional({ name: variableName, value }, areKeysOptional) ? '; without it, no key is sent' : ''
      return comment(`${variableName}: ${what}${note}`, 2)
    }),
    ...comment('TURNPIKE_RUN: the start of idempotency keys; by default a new one', 2),
  ]
}

/** Whether the script sends a request without a key if this variable has no value. */
const isOptional = ({ name, value }: Pick<Variable, 'name' | 'value'>, areKeysOptional: boolean): boolean =>
  areKeysOptional && value === 'an API key' && !isSpecial(name)

/** Whether the run sent keys, although the target needs none. */
const hadKeys = ({ example }: Repeated, { contract }: JudgedPlan): boolean =>
  example.evidence.some(({ request }) => request?.headers[keyHeader(contract.auth)]?.includes('$TURNPIKE_KEY') === true)

const isSpecial = (name: string): boolean => Object.values<string>(specialKeyVariables).includes(name)

const maxListed = 20

function listed(ids: readonly number[]): string {
  const more = ids.length > maxListed ? ` and ${ids.length - maxListed} more` : ''
  return `${ids.length === 1 ? 'request' : 'requests'} ${ids.slice(0, maxListed).join(', ')}${more}`
}

function lastLine({ text, example }: Repeated, { requests }: Sequence): string {
  const deciding = requests.filter(({ decides }) => decides).map(({ id }) => id)
  const look = deciding.length === 0 ? '' : ` Look at request ${deciding.join(', ')}.`
  return oneLine(`Turnpike saw: ${example.message}.${look}${text === null ? '' : ` The document demands: ${text}`}`)
}
