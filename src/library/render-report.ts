import type { Report } from '../report/document.ts'
import { type Format, renderers } from '../report/render/renderers.ts'

/** The report as `turnpike run --format` prints it: as text without colors, 100 columns wide. */
export const renderReport = (report: Report, format: Format = 'text'): string =>
  renderers[format](report, { columns: 100, color: false, directory: null })
