import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../lib/usage-error.ts'
import { createSigner, type SignerJob } from '../produce/callers/signer.ts'
import type { SignerAnswer, SignerQuery } from './signer-thread.ts'

/** The main function of a thread that signs. */
function serve(job: SignerJob): void {
  const signer = createSigner(job)
  const post = (answer: SignerAnswer): void => parentPort?.postMessage(answer)
  parentPort?.on('message', (query: SignerQuery) => {
    const { id } = query
    const answer = 'signIns' in query ? signer.signIns(query.signIns) : signer.payment(query.payment)
    answer.then(
      value => post({ id, value }),
      (cause: unknown) => post({ id, error: messageOf(cause) }),
    )
  })
}

if (parentPort !== null) serve(workerData as SignerJob)
