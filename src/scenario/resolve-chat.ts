import type { z } from 'zod'
import type { ChatOptions } from '../contract/chat-options.ts'
import type { Contract, Model } from '../contract/contract.ts'
import { entriesOf, salvage } from '../lib/schema-mistakes.ts'
import { unknownWord } from '../lib/usage-error.ts'
import type { Complain, Path } from '../lib/yaml.ts'
import type { Call } from './call.ts'
import { callSchemas } from './call-schema.ts'

/** A chat call, decided by the contract; null where it has a mistake. */
export function resolveChat(path: Path, value: unknown, contract: Contract, complain: Complain): Call | null {
  const call = salvage(callSchemas.chat, value)
  const { 'prompt-tokens': promptTokens, 'max-completion-tokens': asked = null, stream } = call
  const model = modelOf(path, value, contract, complain)
  if (model === null) return null
  if (asked !== null && asked > model.maxCompletionTokens) {
    const expected = `at most ${model.maxCompletionTokens}, the most of ${model.id}`
    complain({ path: [...path, 'max-completion-tokens'], at: 'value', got: String(asked), expected })
    return null
  }
  if (promptTokens === undefined || stream === undefined) return null
  const options = optionsOf(call)
  return {
    kind: 'chat',
    model: model.id,
    modelTier: model.tier,
    stream,
    promptTokens,
    maxCompletionTokens: asked ?? boundOf(options, model),
    isBounded: asked !== null,
    options,
  }
}

function modelOf(path: Path, value: unknown, contract: Contract, complain: Complain): Model | null {
  const { 'model-tier': tier, model: id, deprecated = false } = salvage(callSchemas.chat, value)
  const written = entriesOf(value)
  const expected = 'either "model" or "model-tier"'
  if (written.model !== undefined && written['model-tier'] !== undefined) {
    complain({ path: [...path, 'model-tier'], at: 'key', got: '"model-tier" beside "model"', expected })
    return null
  }
  if (written.model === undefined && written['model-tier'] === undefined) {
    complain({ path, at: 'value', got: 'no "model" and no "model-tier"', expected })
    return null
  }
  const able = contract.models.filter(known => (tier === undefined ? known.id === id : known.tier === tier))
  const model = (deprecated ? able.find(({ lifecycle }) => lifecycle === 'deprecated') : undefined) ?? able[0]
  if (model !== undefined) return model
  if (id !== undefined) {
    const ids = contract.models.map(known => known.id)
    const word = unknownWord(id, ids, `a model of the profile "${contract.name}"`)
    complain({ path: [...path, 'model'], at: 'value', ...word })
  } else if (tier !== undefined) {
    const tiers = [...new Set(contract.models.map(each => each.tier))]
    const word = unknownWord(tier, tiers, `a tier with a model in the profile "${contract.name}"`)
    complain({ path: [...path, 'model-tier'], at: 'value', ...word })
  }
  return null
}

type Written = Partial<z.output<typeof callSchemas.chat>>

/** Null where nothing but a prompt and a bound is sent, as of nearly all calls under load. */
function optionsOf(written: Written): ChatOptions | null {
  const { body = {}, parameters = {}, suffix = null } = written
  const { 'accept-encoding': encoding = null, 'same-prompt': samePrompt = false } = written
  const isPlain = Object.keys(body).length === 0 && Object.keys(parameters).length === 0
  if (isPlain && suffix === null && encoding === null && !samePrompt) return null
  return { body, parameters, suffix, encoding, samePrompt }
}

/** The bound that holds where none is given by name: the older one, if it is above 0, or the model's own. */
function boundOf(options: ChatOptions | null, model: Model): number {
  const older = options?.body.max_tokens
  const isBound = typeof older === 'number' && Number.isInteger(older) && older > 0
  return Math.min(isBound ? older : model.maxCompletionTokens, model.maxCompletionTokens)
}
