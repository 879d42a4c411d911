import { type Lies, lie } from './lie.ts'

export const compressionLies = {
  'chat.compression': [
    lie('never-compressed', 'Nothing is ever compressed.', () => ({ encoding: () => null })),
    lie('deflate-for-gzip', 'Who accepts gzip gets deflate.', honest => ({
      encoding: (accepted, reply, visit) => (honest.encoding(accepted, reply, visit) === null ? null : 'deflate'),
    })),
    lie('br-for-gzip', 'Who accepts gzip alone gets br.', honest => ({
      encoding: (accepted, reply, visit) => (honest.encoding(accepted, reply, visit) === null ? null : 'br'),
    })),
  ],
  'chat.compression.stream': [
    lie('streams-compressed', 'Streams are compressed, too, and so they come at the end.', honest => ({
      encoding: (accepted, reply, visit) =>
        reply.body.kind === 'stream' && accepted !== undefined ? 'gzip' : honest.encoding(accepted, reply, visit),
    })),
  ],
  'chat.compression.body': [
    lie('compressed-in-name', 'Bodies are said to be compressed, and are not.', () => ({
      compress: text => Buffer.from(text),
    })),
    lie('compressed-and-cut', 'The last bytes of a compressed body are missing.', honest => ({
      compress: (text, encoding) => honest.compress(text, encoding).subarray(0, -8),
    })),
  ],
  'header.content-encoding': [
    lie('gzip-for-everyone', 'Completions are compressed whoever asks.', honest => ({
      encoding: (accepted, reply, visit) => honest.encoding(accepted ?? 'gzip', reply, visit),
    })),
  ],
} as const satisfies Lies
