import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { commands } from '../../src/cli/commands.ts'
import { describeWith } from '../support/real-part.ts'

type Service = {
  readonly image: string
  readonly build?: string
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
const { service, load, prometheus, grafana } = compose.services
const dockerfile = readFileSync('Dockerfile', 'utf8')
const pinned = /^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/

describe.each(Object.entries(compose.services))('the container %s', (_, container) => {
  test('is of an image that is built here, or pinned by tag and digest', () => {
    expect(container.build === '.' || pinned.test(container.image)).toBe(true)
  })
  test('is open on this machine only', () => {
    for (const port of container.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/)
  })
  test('mounts what is there, and may write to volumes only', () => {
    for (const volume of container.volumes ?? []) {
      const [from = '', , mode] = volume.split(':')
      if (from.startsWith('./')) expect([from, existsSync(from), mode]).toEqual([from, true, 'ro'])
      else expect(compose.volumes).toHaveProperty(from)
    }
  })
  test('waits for containers that say when they are ready', () => {
    for (const name of Object.keys(container.depends_on ?? {}))
      expect(compose.services[name]?.healthcheck, name).toBeDefined()
  })
})

test('all that goes on until it is told to stop says whether it is well', () => {
  for (const container of [service, prometheus, grafana]) expect(container?.healthcheck?.test[0]).toBe('CMD')
})

test('the flags of the containers are those of the program', () => {
  const flagsOf = (words: readonly string[] = []) =>
    words.filter(word => word.startsWith('--')).map(word => word.slice(2))
  const known = (name: string) => Object.keys(commands.find(({ usage }) => usage.split(' ')[0] === name)?.flags ?? {})
  expect(known('service')).toEqual(expect.arrayContaining(flagsOf(service?.command)))
  expect(known('run')).toEqual(expect.arrayContaining(flagsOf(load?.entrypoint)))
  expect(load?.entrypoint?.slice(0, 3)).toEqual(['node', 'dist/main.js', 'run'])
  expect(load?.command?.every(file => existsSync(file))).toBe(true)
})

test('a run is where Prometheus looks for it, and has the service where it looks for that', () => {
  expect(load?.network_mode).toBe('service:service')
  const [{ targets }] = parse(readFileSync('dashboards/prometheus/compose-targets.yml', 'utf8'))
  expect(targets).toEqual(['service:9464'])
  expect(load?.entrypoint).toContain('0.0.0.0:9464')
  expect(load?.entrypoint).toContain('http://127.0.0.1:8402/api/v1')
  expect(service?.command).toContain('8402')
})

test('Prometheus finds its rules and its targets beside its configuration', () => {
  const { rule_files, scrape_configs } = parse(readFileSync('dashboards/prometheus/prometheus.yml', 'utf8'))
  const mounted = (prometheus?.volumes ?? []).map(volume => volume.split(':')[1])
  for (const file of [...rule_files, 'prometheus.yml']) expect(mounted).toContain(`/etc/prometheus/${file}`)
  const [{ file_sd_configs }] = scrape_configs
  expect(file_sd_configs[0].files).toEqual(['targets/*.yml'])
  expect(mounted).toContain('/etc/prometheus/targets/compose.yml')
})

test('Grafana finds every dashboard, and scrapes are as far apart as it is told', () => {
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
  test('is built on a pinned image, and runs as nobody in particular', () => {
    expect(/^ARG NODE=(\S+)$/m.exec(dockerfile)?.[1]).toMatch(pinned)
    expect([...dockerfile.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual([`\${NODE}`, `\${NODE}`])
    expect(dockerfile).toMatch(/^USER node$/m)
  })
  test('copies what is there and what is not ignored', () => {
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
  test('takes the file', () => {
    expect(execFileSync('docker-compose', ['config', '--quiet'], { encoding: 'utf8' })).toBe('')
    const services = execFileSync('docker-compose', ['--profile', 'run', 'config', '--services'], { encoding: 'utf8' })
    expect(services.trim().split('\n').toSorted()).toEqual(Object.keys(compose.services).toSorted())
  })
})
