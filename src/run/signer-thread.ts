import { Worker as Thread } from 'node:worker_threads'
import { referenceSolanaNode } from '../contract/wallets.ts'
import { isLoopback } from '../lib/loopback.ts'
import { messageOf } from '../lib/usage-error.ts'
import type { Signer, SignerJob } from '../produce/callers/signer.ts'
import type { WorkerJob } from './messages.ts'

/** A query to the thread. The answer has the same id. */
export type SignerQuery = { readonly id: number } & (
  | { readonly signIns: Parameters<Signer['signIns']>[0] }
  | { readonly payment: Parameters<Signer['payment']>[0] }
)
type Query = SignerQuery extends infer Each ? (Each extends SignerQuery ? Omit<Each, 'id'> : never) : never

export type SignerAnswer =
  | { readonly id: number; readonly value: readonly string[] | string | null }
  | { readonly id: number; readonly error: string }

/** What the wallets of a worker sign for. An address that is not a URL belongs to a service in this process. */
export function signerJobOf({ callers, contract, baseUrl, info, solanaNode }: WorkerJob): SignerJob {
  const isUrl = URL.canParse(baseUrl)
  return {
    wallets: callers.flatMap(caller => (caller.kind === 'wallet' ? caller : [])),
    terms: contract.wallets,
    origin: isUrl ? new URL(baseUrl).origin : 'http://localhost',
    solanaNode: solanaNode ?? (isUrl && isLoopback(baseUrl) ? `${baseUrl}${referenceSolanaNode}` : null),
    runId: info.runId,
  }
}

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (cause: Error) => void }

/** Signs in a thread of its own, which takes no time from the thread that sends. If it ends early, all orders fail. */
export function startSignerThread(job: SignerJob): { readonly signer: Signer; readonly stop: () => Promise<unknown> } {
  const thread = new Thread(new URL('./signer-main.js', import.meta.url), { workerData: job })
  // A run that has ended does not wait for unused signatures.
  thread.unref()
  const waiting = new Map<number, Waiting>()
  let queries = 0
  let failure: Error | null = null

  const fail = (why: string): void => {
    failure ??= new Error(`The thread that signs has ended: ${why}`)
    for (const { reject } of waiting.values()) reject(failure)
    waiting.clear()
  }
  thread.on('message', (answer: SignerAnswer) => {
    const found = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('error' in answer) found?.reject(new Error(answer.error))
    else found?.resolve(answer.value)
  })
  thread.on('error', cause => fail(messageOf(cause)))
  thread.on('exit', code => fail(`code ${code}`))

  const ask = <Value>(query: Query): Promise<Value> =>
    new Promise((resolve, reject) => {
      if (failure !== null) return reject(failure)
      const id = queries++
      waiting.set(id, { resolve: value => resolve(value as Value), reject })
      thread.postMessage({ ...query, id })
    })

  return {
    signer: { signIns: signIns => ask({ signIns }), payment: payment => ask({ payment }) },
    stop: () => thread.terminate(),
  }
}
