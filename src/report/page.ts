import type { Block } from './blocks.ts'
import type { Report } from './document.ts'
import { billingSection } from './sections/billing.ts'
import { callsSection } from './sections/calls.ts'
import { capacitySection } from './sections/capacity.ts'
import { clausesSection } from './sections/clauses.ts'
import { comparisonSection } from './sections/comparison.ts'
import { conversationsSection } from './sections/conversations.ts'
import { findingsSection } from './sections/findings.ts'
import { harnessSection } from './sections/harness.ts'
import { latencySection } from './sections/latency.ts'
import { limitsSection } from './sections/limits.ts'
import { loadSection, planSection, valuesSection } from './sections/load.ts'
import { summarySection } from './sections/summary.ts'
import { thresholdsSection } from './sections/thresholds.ts'

/** In page order. A new section is one file and one line here. */
const sections: readonly ((report: Report) => readonly Block[])[] = [
  summarySection,
  findingsSection,
  comparisonSection,
  thresholdsSection,
  capacitySection,
  loadSection,
  callsSection,
  conversationsSection,
  latencySection,
  billingSection,
  limitsSection,
  planSection,
  valuesSection,
  clausesSection,
  harnessSection,
]

/** The page of a report, for every renderer. */
export const reportPage = (report: Report): readonly Block[] => sections.flatMap(section => section(report))
