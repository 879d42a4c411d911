import { readdirSync, readFileSync } from 'node:fs'
import { Ajv, type Schema } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../src/cli/commands.ts'

/**
 * The manifests against the part of the Kubernetes API that they use. No cluster is asked, and the schema that Kubernetes
 * publishes is half a megabyte for Jobs alone. Unlike that schema, this one refuses unknown members, as a strict API server
 * does, so a misspelled member is a mistake.
 */
const folder = 'docs/examples/kubernetes'
const read = (name: string) => parse(readFileSync(`${folder}/${name}`, 'utf8'))
const [secret, deployment, job] = ['redis-secret.yaml', 'workers-deployment.yaml', 'workers-job.yaml'].map(read)

type Members = Readonly<Record<string, Schema>>
/** An object with exactly these members. A name that ends with `?` may be missing. */
const shape = (members: Members): Schema => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(members).filter(name => !name.endsWith('?')),
  properties: Object.fromEntries(Object.entries(members).map(([name, each]) => [name.replace('?', ''), each])),
})
const list = (items: Schema): Schema => ({ type: 'array', minItems: 1, items })
const is = (value: unknown): Schema => ({ const: value })
const text: Schema = { type: 'string', minLength: 1 }
const count: Schema = { type: 'integer', minimum: 1 }
const quantity: Schema = { type: 'string', pattern: '^[1-9][0-9]*(m|Mi|Gi)?$' }
const label: Schema = { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' }

const labels = shape({ app: label })
const metadata = shape({ name: label, 'labels?': labels })
const selector = shape({ matchLabels: labels })
const source: Schema = {
  oneOf: [
    shape({ secretKeyRef: shape({ name: label, key: text }) }),
    shape({ fieldRef: shape({ fieldPath: is('metadata.name') }) }),
  ],
}
const container = shape({
  name: label,
  image: text,
  args: list(text),
  env: list(shape({ name: { type: 'string', pattern: '^[A-Z_]+$' }, valueFrom: source })),
  resources: shape({ requests: shape({ cpu: quantity, memory: quantity }), limits: shape({ memory: quantity }) }),
  securityContext: shape({
    allowPrivilegeEscalation: is(false),
    readOnlyRootFilesystem: is(true),
    capabilities: shape({ drop: is(['ALL']) }),
  }),
  // Where a worker records by default, in the working directory of the image.
  volumeMounts: list(shape({ name: is('runs'), mountPath: is('/app/runs') })),
})
const podOf = (members: Members): Schema =>
  shape({
    metadata: shape({ labels }),
    spec: shape({
      ...members,
      terminationGracePeriodSeconds: count,
      automountServiceAccountToken: is(false),
      securityContext: shape({
        runAsNonRoot: is(true),
        // The user of the image has a name only, of which a cluster cannot tell that it is not root.
        runAsUser: count,
        seccompProfile: shape({ type: is('RuntimeDefault') }),
      }),
      topologySpreadConstraints: list(
        shape({
          maxSkew: count,
          topologyKey: text,
          whenUnsatisfiable: { enum: ['DoNotSchedule', 'ScheduleAnyway'] },
          labelSelector: selector,
        }),
      ),
      containers: list(container),
      volumes: list(shape({ name: is('runs'), emptyDir: shape({ sizeLimit: quantity }) })),
    }),
  })
const deploymentSchema = shape({
  apiVersion: is('apps/v1'),
  kind: is('Deployment'),
  metadata,
  spec: shape({ replicas: count, selector, strategy: shape({ type: is('Recreate') }), template: podOf({}) }),
})
const jobSchema = shape({
  apiVersion: is('batch/v1'),
  kind: is('Job'),
  metadata,
  spec: shape({
    completions: count,
    parallelism: count,
    completionMode: is('Indexed'),
    backoffLimitPerIndex: is(0),
    maxFailedIndexes: is(0),
    podReplacementPolicy: is('Failed'),
    activeDeadlineSeconds: count,
    ttlSecondsAfterFinished: count,
    template: podOf({ restartPolicy: is('Never') }),
  }),
})
const secretSchema = shape({
  apiVersion: is('v1'),
  kind: is('Secret'),
  metadata,
  type: is('Opaque'),
  stringData: shape({ url: { type: 'string', pattern: '^rediss?://' } }),
})

const ajv = new Ajv({ allErrors: true })
const mistakesIn = (schema: Schema, manifest: unknown): readonly unknown[] => {
  ajv.validate(schema, manifest)
  return ajv.errors ?? []
}

test('every manifest is tested', () => {
  expect(readdirSync(folder).toSorted()).toEqual(['redis-secret.yaml', 'workers-deployment.yaml', 'workers-job.yaml'])
})

test.each([
  ['Secret', secretSchema, secret],
  ['Deployment', deploymentSchema, deployment],
  ['Job', jobSchema, job],
])('the %s has no member that is unknown, missing, or of another type', (_, schema, manifest) => {
  expect(mistakesIn(schema, manifest)).toEqual([])
})

test('a misspelled or missing member, or one of another type, is a mistake', () => {
  const { podReplacementPolicy, ...others } = job.spec
  for (const spec of [
    { ...job.spec, podFailurPolicy: {} },
    { ...others, podReplacmentPolicy: podReplacementPolicy },
    { ...job.spec, backoffLimitPerIndex: '0' },
    { ...job.spec, completions: 0 },
  ])
    expect(mistakesIn(jobSchema, { ...job, spec })).not.toEqual([])
})

describe.each([
  ['Deployment', deployment],
  ['Job', job],
])('the workers of the %s', (_, { spec }) => {
  const [worker] = spec.template.spec.containers

  test('are started with a command and flags that the program has', () => {
    const [name = '', ...words]: readonly string[] = worker.args
    const { flags = {} } = commands.find(({ usage }) => usage === name) ?? {}
    expect(words.filter((_word, index) => index % 2 === 0)).toEqual(['--redis', '--name'])
    expect(Object.keys(flags)).toEqual(expect.arrayContaining(['redis', 'name']))
  })

  test('get the address of Redis from the Secret, and their name from the pod', () => {
    const sources = new Map(
      worker.env.map(({ name, valueFrom }: { name: string; valueFrom: unknown }) => [`$(${name})`, valueFrom]),
    )
    expect(sources.get(worker.args[2])).toEqual({
      secretKeyRef: { name: secret.metadata.name, key: Object.keys(secret.stringData)[0] },
    })
    expect(sources.get(worker.args[4])).toEqual({ fieldRef: { fieldPath: 'metadata.name' } })
  })

  test('have the version of this package, since a run refuses any other', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(worker.image.split(':')[1]).toBe(version)
  })

  test('are found by the labels that select them', () => {
    const { labels: own } = spec.template.metadata
    expect(spec.template.spec.topologySpreadConstraints[0].labelSelector.matchLabels).toEqual(own)
    if (spec.selector !== undefined) expect(spec.selector.matchLabels).toEqual(own)
  })
})

test('the Job starts all of its workers at once, and outlives their last shard', () => {
  const { completions, parallelism, activeDeadlineSeconds, template } = job.spec
  expect(parallelism).toBe(completions)
  expect(activeDeadlineSeconds).toBeGreaterThan(template.spec.terminationGracePeriodSeconds)
})
