import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/slow/**', 'test/real/**'],
    testTimeout: 60_000,
    pool: 'threads',
    maxWorkers: 2,
  },
})
