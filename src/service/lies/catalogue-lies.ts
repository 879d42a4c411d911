import { amended } from './amended.ts'
import { type Lies, lie } from './lie.ts'

export const catalogueLies = {
  'catalogue.networks': [
    lie('networks-unsorted', 'The network list is in the order of its making.', honest => ({
      networks: slugs => honest.networks([...slugs.slice(1), ...slugs.slice(0, 1)]),
    })),
    lie('network-twice', 'A network is listed twice.', honest => ({
      networks: slugs => honest.networks([...slugs.slice(0, 1), ...slugs]),
    })),
  ],
  'catalogue.models': [
    lie('models-without-id', 'Models have a slug in place of an id.', honest => ({
      models: models =>
        amended(honest.models(models), { data: models.map(({ id, ...rest }) => ({ slug: id, ...rest })) }),
    })),
    lie('models-in-an-array', 'The model list is an array.', () => ({ models: models => models })),
  ],
  'catalogue.rate-limits': [
    lie('limits-of-an-hour', 'The stated limits are those of an hour.', honest => ({
      rateLimits: limits =>
        honest.rateLimits(
          limits.map(({ apiModelId, rateLimits }) => ({
            apiModelId,
            rateLimits: rateLimits.map(({ amount, type }) => ({ amount: amount * 60, type })),
          })),
        ),
    })),
    lie('limits-of-the-first-model', 'The stated limits are those of the first model for all.', honest => ({
      rateLimits: limits =>
        honest.rateLimits(limits.map(({ apiModelId }) => ({ apiModelId, rateLimits: limits[0]?.rateLimits ?? [] }))),
    })),
    lie('no-limits-stated', 'No limits are stated.', () => ({ rateLimits: () => [] })),
  ],
} as const satisfies Lies
