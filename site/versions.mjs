/**
 * Where the pages of a release are on the site, and what the menu of versions lists. A patch replaces the pages of its minor
 * version. `latest` has those of the newest one, and `next` those of what is not released yet.
 */
export function placesOf(version, published) {
  const [major, minor] = version.split('.')
  const own = version.includes('-') ? 'next' : `v${major}.${minor}`
  const names = new Set([...published, own])
  const released = [...names].filter(name => /^v\d+\.\d+$/.test(name)).toSorted((a, b) => compare(b, a))
  const places = released[0] === own ? [own, 'latest'] : [own]
  const listed = ['next', 'latest'].filter(name => names.has(name) || places.includes(name))
  return { places, versions: [...listed, ...released] }
}

const compare = (a, b) => {
  const [majorOfA, minorOfA] = a.slice(1).split('.').map(Number)
  const [majorOfB, minorOfB] = b.slice(1).split('.').map(Number)
  return majorOfA - majorOfB || minorOfA - minorOfB
}
