import { clauseIds, isExtra } from '../../src/contract/clauses.ts'
import { type Contract, contractSchema } from '../../src/contract/contract.ts'
import { documentedContract } from '../../src/contract/documented.ts'
import type { DialectName } from '../../src/contract/limit-headers/limit-headers.ts'
import type { Transport } from '../../src/produce/transport/transport.ts'
import type { Lie } from '../../src/service/lies/lie.ts'
import { learnFrom } from './learn-from.ts'

/** A service whose every model has this limit, and that refuses token limits that are none. */
export const speaking = (
  dialect: DialectName,
  limits: Partial<Contract['limits']> = {},
  requestsPerMinute = 12,
): Contract => {
  const perMinute = { requestsPerMinute, tokensPerMinute: 1_000_000 }
  const ofAll = { XS: perMinute, S: perMinute, M: perMinute, L: perMinute }
  return contractSchema.parse({
    ...documentedContract,
    accounts: { default: ofAll, partner: ofAll },
    chat: { ...documentedContract.chat, lengthField: 'max_tokens' },
    promises: { only: [...clauseIds.filter(id => !isExtra(id)), 'chat.token-limit.*'], except: [] },
    limits: { ...documentedContract.limits, dialect, ...limits },
  })
}

/** Hides everything but chat and the list of models: a gateway of somebody else. */
export const foreign =
  (service: Transport): Transport =>
  async (request, ...more) => {
    if (!/^\/(chat\/completions|models)$/.test(request.path.split('?')[0] ?? '')) {
      const answer = await service({ ...request, method: 'GET', path: '/models', body: null }, ...more)
      return { ...answer, status: 404, headers: {}, body: Buffer.from('{"error":"no such path"}') }
    }
    const answer = await service(request, ...more)
    const own = Object.entries(answer.headers).filter(([name]) => !name.startsWith('x-service-'))
    return { ...answer, headers: { ...Object.fromEntries(own), 'x-acme-version': '1', 'x-acme-model-id': 'm' } }
  }

export const learnForeign = (
  dialect: DialectName,
  lies: readonly Lie[] = [],
  limits: Partial<Contract['limits']> = {},
) => learnFrom({ contract: speaking(dialect, limits), lies, over: foreign })

/** What `learn` says about limits. */
export const limitLines = (differences: readonly string[]): readonly string[] =>
  differences.filter(each => /^(limit|retry)\./.test(each))
