import { type RealProgram, startProgram } from './real-program.ts'
import { freshDirectory } from './turnpike.ts'

/** The command line program needs all dependencies of guidellm, and the server only a few. */
const script = `
import sys
from guidellm.mock_server.server import MockServer
from guidellm.schemas.mock_server import MockServerConfig
MockServer(MockServerConfig(host="127.0.0.1", port=int(sys.argv[1]), ttft_ms=20, itl_ms=2, output_tokens=64)).run()
`

/** Starts the mock server of guidellm. It takes any model. */
export function startGuidellm(port: number): Promise<RealProgram> {
  const origin = `http://127.0.0.1:${port}`
  const python = process.env.TURNPIKE_GUIDELLM_PYTHON ?? ''
  return startProgram(python, ['-c', script, String(port)], { origin, folder: freshDirectory(), ready: '/v1/models' })
}
