import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../../src/cli/commands.ts'
import { describeWith } from '../support/real-part.ts'

type Service = {
  readonly image: string
  readonly build?: string
  readonly profiles?: readonly string[]
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: { readonly test: readonly string[] }
  readonly depends_on?: Readonly<Record<string, unknown>>
  readonly network_mode?: string
}
const compose: { services: Readonly<Record<string, Service>>; volumes: Readonly<Record<string, unknown>> } = parse(
  readFileSync('docker-compose.yml', 'utf8'),
)
const { service, load, redis, worker, prometheus, grafana } = compose.services
const dockerfile = readFileSync('Dockerfile', 'utf8')
const pinned = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/

describe.each(Object.entries(compose.services))('the container %s', (_, container) => {
  test('has an image that is built from this folder, or pinned by tag and digest', () => {
    expect(container.build === '.' || pinned.test(container.image)).toBe(true)
  })
  test('publishes its ports on the loopback interface only', () => {
    for (const port of container.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/)
  })
  test('mounts existing files read-only, and writes to volumes only', () => {
    for (const volume of container.volumes ?? []) {
      const [from = '', , mode] = volume.split(':')
      if (from.startsWith('./')) expect([from, existsSync(from), mode]).toEqual([from, true, 'ro'])
      else expect(compose.volumes).toHaveProperty(from)
    }
  })
  test('depends only on containers with a health check', () => {
    for (const name of Object.keys(container.depends_on ?? {}))
      expect(compose.services[name]?.healthcheck, name).toBeDefined()
  })
})

test('every container that serves something has a health check', () => {
  for (const container of [service, redis, prometheus, grafana]) expect(container?.healthcheck?.test[0]).toBe('CMD')
})

test('the containers use flags that the program has', () => {
  const flagsOf = (words: readonly string[] = []) =>
    words.filter(word => word.startsWith('--')).map(word => word.slice(2))
  const known = (name: string) => Object.keys(commands.find(({ usage }) => usage.split(' ')[0] === name)?.flags ?? {})
  expect(known('service')).toEqual(expect.arrayContaining(flagsOf(service?.command)))
  expect(known('run')).toEqual(expect.arrayContaining(flagsOf(load?.entrypoint)))
  expect(worker?.command?.[0]).toBe('worker')
  expect(known('worker')).toEqual(expect.arrayContaining(flagsOf(worker?.command)))
  expect(load?.entrypoint?.slice(0, 3)).toEqual(['node', 'dist/main.js', 'run'])
  expect(load?.command?.every(file => existsSync(file))).toBe(true)
})

test('Prometheus scrapes the run, and the run finds the service', () => {
  expect(load?.network_mode).toBe('service:service')
  const [{ targets }] = parse(readFileSync('dashboards/prometheus/compose-targets.yml', 'utf8'))
  expect(targets).toEqual(['service:9464'])
  expect(load?.entrypoint).toContain('0.0.0.0:9464')
  expect(load?.entrypoint).toContain('http://127.0.0.1:8402/api/v1')
  expect(service?.command).toContain('8402')
})

test('workers start in their profile only, reach the target at the address of the run, and Redis by its name', () => {
  const inProfile = (...names: readonly string[]) =>
    Object.keys(compose.services).filter(name => `${compose.services[name]?.profiles ?? []}` === `${names}`)
  expect(inProfile('scale')).toEqual(['redis', 'worker'])
  expect(inProfile()).toEqual(['service', 'prometheus', 'grafana'])
  expect(worker?.network_mode).toBe(load?.network_mode)
  expect(worker?.command).toContain('redis://redis:6379')
  expect(Object.keys(worker?.depends_on ?? {})).toEqual(['redis', 'service'])
})

test('Redis keeps every claim on disk, and drops none', () => {
  const settings = (redis?.command ?? []).slice(1).join(' ')
  expect(settings).toBe('--appendonly yes --appendfsync always --maxmemory-policy noeviction')
  expect(redis?.volumes?.map(volume => volume.split(':')[1])).toEqual(['/data'])
})

test('the Prometheus container mounts its configuration, rules and targets', () => {
  const { rule_files, scrape_configs } = parse(readFileSync('dashboards/prometheus/prometheus.yml', 'utf8'))
  const mounted = (prometheus?.volumes ?? []).map(volume => volume.split(':')[1])
  for (const file of [...rule_files, 'prometheus.yml']) expect(mounted).toContain(`/etc/prometheus/${file}`)
  const [{ file_sd_configs }] = scrape_configs
  expect(file_sd_configs[0].files).toEqual(['targets/*.yml'])
  expect(mounted).toContain('/etc/prometheus/targets/compose.yml')
})

test('Grafana mounts every dashboard, and its time interval equals the scrape interval', () => {
  const at = '/var/lib/grafana/dashboards'
  const mounted = (grafana?.volumes ?? []).map(volume => volume.split(':')[1])
  for (const file of readdirSync('dashboards/grafana').filter(name => name.endsWith('.json')))
    expect(mounted).toContain(`${at}/${file}`)
  const folder = 'dashboards/grafana/provisioning'
  const { providers } = parse(readFileSync(`${folder}/dashboards/turnpike.yml`, 'utf8'))
  expect(providers[0].options.path).toBe(at)
  expect(mounted).toContain(grafana?.environment?.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)
  const { datasources } = parse(readFileSync(`${folder}/datasources/prometheus.yml`, 'utf8'))
  expect(datasources[0].url).toBe('http://prometheus:9090')
  const { global } = parse(readFileSync('dashboards/prometheus/prometheus.yml', 'utf8'))
  expect(datasources[0].jsonData.timeInterval).toBe(global.scrape_interval)
})

describe('the Dockerfile', () => {
  test('uses a pinned image, and runs without root', () => {
    expect(/^ARG NODE=(\S+)$/m.exec(dockerfile)?.[1]).toMatch(pinned)
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual([`\${NODE}`, `\${NODE}`])
    expect(dockerfile).toMatch(/^USER node$/m)
  })
  test('copies existing paths that are not ignored', () => {
    const ignored = readFileSync('.dockerignore', 'utf8').split('\n')
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, words = '']) =>
      words.split(' ').slice(0, -1),
    )
    expect(copied.length).toBeGreaterThan(5)
    for (const path of copied)
      expect([path, existsSync(path), ignored.includes(`!${path}`)]).toEqual([path, true, true])
  })
})

describeWith('compose', 'docker-compose', () => {
  test('accepts the compose file', () => {
    expect(execFileSync('docker-compose', ['config', '--quiet'], { encoding: 'utf8' })).toBe('')
    const services = execFileSync(
      'docker-compose',
      ['--profile', 'run', '--profile', 'scale', 'config', '--services'],
      {
        encoding: 'utf8',
      },
    )
    expect(services.trim().split('\n').toSorted()).toEqual(Object.keys(compose.services).toSorted())
  })
})
