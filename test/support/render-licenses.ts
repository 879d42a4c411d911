/** An entry of `packages` in package-lock.json. */
export type Locked = {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly optional?: boolean
}

/** Licenses that ask for no more than a notice. Another one needs a decision. */
export const permissive = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', '(MIT AND Zlib)']

export type Dependency = { readonly name: string; readonly license: string; readonly isOptional: boolean }

/** What an installation of the package may hold, each version once, by name. */
export function dependenciesOf(packages: Readonly<Record<string, Locked>>): readonly Dependency[] {
  const named = Object.entries(packages).flatMap(([path, { version, license, dev, devOptional, optional }]) => {
    const name = path.replace(/^.*node_modules\//, '')
    if (name === '' || dev === true) return []
    const isOptional = optional === true || devOptional === true
    return [[`${name} ${version}`, { name: `${name} ${version}`, license: license ?? 'none', isOptional }] as const]
  })
  return [...new Map(named).values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

/** `THIRD_PARTY.md`: the licenses, and the packages of each. */
export function renderLicenses(dependencies: readonly Dependency[]): string {
  const licenses = [...new Set(dependencies.map(({ license }) => license))].toSorted()
  const listed = (isOptional: boolean) =>
    licenses.flatMap(license => {
      const names = dependencies.filter(each => each.license === license && each.isOptional === isOptional)
      return names.length === 0 ? [] : [`**${license}:** ${names.map(({ name }) => name).join(', ')}\n`]
    })
  return [
    '# Licenses of others\n',
    'The package of Turnpike holds code of Turnpike only, under Apache-2.0. npm installs these packages beside it, in these or',
    'later versions; the image contains them. Each has the text of its license in its folder.\n',
    '## Always installed\n',
    ...listed(false),
    '## Optional\n',
    'For wallets, several machines and agents. `npm install --omit=optional` leaves them out. Some are for one platform, and',
    'some are installed only with a package that asks for them.\n',
    ...listed(true),
  ].join('\n')
}
