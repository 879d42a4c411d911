import { type Block, code } from '../blocks.ts'
import type { Report } from '../document.ts'

/** The values that the run used, and who stated them. Those that differ from the document are listed in every medium. */
export function valuesSection({ plan }: Report): readonly Block[] {
  const values = plan?.values ?? []
  const differing = values.filter(({ differs }) => differs !== null)
  if (values.length === 0) return []
  return [
    {
      kind: 'details',
      in: ['html', 'markdown'],
      summary: 'Values, and who stated them',
      blocks: [
        {
          kind: 'table',
          columns: [{ title: 'value' }, { title: '', wraps: true }, { title: 'source' }, { title: 'instead of' }],
          rows: values.map(({ name, text, source, differs }) => ({ cells: [code(name), text, source, differs ?? ''] })),
        },
      ],
    },
    ...(differing.length === 0
      ? []
      : [
          {
            kind: 'text',
            text: `The target states other values than the document or the profile: ${differing
              .map(({ name, text, differs }) => `${name} is ${text} instead of ${differs}`)
              .join(', ')}.`,
          } as const,
        ]),
  ]
}
