import { expect, test } from 'vitest'
import { isColored, isInteractive } from '../../../src/cli/print.ts'

const terminal = { isTTY: true } as const
const pipe = { isTTY: false } as const

test.each([
  ['a terminal', terminal, {}, true],
  ['a pipe', pipe, {}, false],
  ['a terminal with NO_COLOR', terminal, { NO_COLOR: '1' }, false],
  ['a terminal with an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
  ['a terminal without sequences', terminal, { TERM: 'dumb' }, false],
  ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true],
  ['a pipe with an empty FORCE_COLOR', pipe, { FORCE_COLOR: '' }, true],
  ['a terminal with FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
  ['a pipe with FORCE_COLOR and NO_COLOR', pipe, { FORCE_COLOR: '3', NO_COLOR: '1' }, true],
])('the color of %s', (_, stream, environment, expected) => {
  expect(isColored(stream, environment)).toBe(expected)
})

test.each([
  ['a terminal', terminal, {}, true],
  ['a pipe', pipe, {}, false],
  ['a terminal without sequences', terminal, { TERM: 'dumb' }, false],
  ['a terminal of a CI', terminal, { CI: 'true' }, false],
  ['a terminal with CI=1', terminal, { CI: '1' }, false],
  ['a terminal with CI=false', terminal, { CI: 'false' }, true],
  ['a terminal with an empty CI', terminal, { CI: '' }, true],
])('whether lines are replaced on %s', (_, stream, environment, expected) => {
  expect(isInteractive(stream, environment)).toBe(expected)
})
