import { describe, expect, test } from 'vitest'
import { createProtobufWriter, type ProtobufWriter } from '../../../../src/outputs/remote-write/protobuf.ts'

const bytesOf = (write: (to: ProtobufWriter) => void): string => {
  const writer = createProtobufWriter(1)
  write(writer)
  return Buffer.from(writer.take()).toString('hex')
}

describe('protobuf: fields follow the wire format', () => {
  test.each([
    ['an integer', '089601', to => to.uint(1, 150)],
    ['0, which is also written', '0800', to => to.uint(1, 0)],
    ['an integer above 32 bits', '10d68bd8f89f34', to => to.uint(2, 1_795_280_995_798)],
    ['the largest safe integer', '08ffffffffffffff0f', to => to.uint(1, Number.MAX_SAFE_INTEGER)],
    ['a signed number above 0', '080a', to => to.sint(1, 5)],
    ['a signed number below 0', '0809', to => to.sint(1, -5)],
    ['a field above 15', '800105', to => to.uint(16, 5)],
    ['a double', '09000000000000f83f', to => to.double(1, 1.5)],
    ['a double by its bits', '09020000000000f07f', to => to.doubleBits(1, 0x7ff0000000000002n)],
    ['a text', '120774657374696e67', to => to.text(2, 'testing')],
    ['a text outside ASCII', '1203e282ac', to => to.text(2, '€')],
    ['packed numbers', '22060607dd050000', to => to.packedSints(4, [3, -4, -367, 0, 0])],
    ['a message', '1a03089601', to => to.message(3, () => to.uint(1, 150))],
    ['an empty message', '1a00', to => to.message(3, () => {})],
    ['encoded fields', '089601', to => to.raw(Uint8Array.of(8, 150, 1))],
  ] as const satisfies readonly (readonly [string, string, (to: ProtobufWriter) => void])[])('%s', (_, hex, write) => {
    expect(bytesOf(write)).toBe(hex)
  })

  test.each([127, 128, 16_383, 16_384])('a message of %i bytes is preceded by its length', length => {
    const inner = '61'.repeat(length - (length < 130 ? 2 : length < 16_387 ? 3 : 4))
    const hex = bytesOf(to => to.message(1, () => to.text(1, Buffer.from(inner, 'hex').toString())))
    const size = length < 128 ? 1 : length < 16_384 ? 2 : 3
    expect(hex).toHaveLength(2 * (1 + size + length))
    expect(hex.endsWith(inner)).toBe(true)
  })

  test('taken bytes do not change with later writes', () => {
    const writer = createProtobufWriter()
    writer.uint(1, 1)
    const taken = writer.take()
    writer.uint(1, 2)
    expect([...taken]).toEqual([8, 1])
    expect(writer.size()).toBe(2)
  })
})
