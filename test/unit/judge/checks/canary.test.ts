import { expect, test } from 'vitest'
import { canariesIn, canaryOf } from '../../../../src/contract/requests/canary.ts'
import { chatDescriptor, completion, failedClauses, observed, responseOf, tokenHeaders } from './observed.ts'

const [own, other] = [canaryOf('one'), canaryOf('two')]

function failedWith(content: string, canary: string | undefined = own) {
  const choices = completion.choices.map(choice => ({ ...choice, message: { ...choice.message, content } }))
  const response = responseOf(200, { ...completion, choices }, tokenHeaders)
  return failedClauses(observed({ ...chatDescriptor, ...(canary && { canary }) }, response))['chat.isolation']
}

test('a word is found in a text, whatever stands around it', () => {
  expect(canariesIn(`"${own}", then **${other}**.`)).toEqual([own, other])
  expect(own).not.toBe(other)
})

test('a completion may have its own word or none', () => {
  expect(failedWith(`${own} time`)).toBeUndefined()
  expect(failedWith('time')).toBeUndefined()
})

test('a completion must not have the word of another request', () => {
  expect(failedWith(`${own} time ${other}`)).toBe(
    `the text has ${other}, expected ${own}: another request asked for it`,
  )
  expect(failedWith(other)).toContain(other)
})
