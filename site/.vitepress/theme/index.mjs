import { useData, withBase } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { h, onMounted, ref } from 'vue'
import './style.css'

/** Leads to the pages of other releases. Only the root of a published site knows which there are. */
const VersionMenu = {
  setup() {
    const { theme } = useData()
    const names = ref([])
    const here = withBase('/')
    const root = here.replace(/[^/]+\/$/, '')
    const current = here.slice(root.length, -1)
    onMounted(async () => {
      const response = await fetch(`${root}versions.json`).catch(() => null)
      if (response?.ok) names.value = await response.json()
    })
    return () =>
      names.value.length === 0
        ? h('span', { class: 'version' }, theme.value.version)
        : h(
            'select',
            {
              class: 'version',
              'aria-label': 'Version',
              value: current,
              onChange: ({ target }) => location.assign(`${root}${target.value}/`),
            },
            names.value.map(name => h('option', { value: name }, name)),
          )
  },
}

/** Each page of the repository is here as Markdown, too. */
const MarkdownTwin = {
  setup() {
    const { page, frontmatter } = useData()
    // Without a target, the site would look for a page.
    return () =>
      frontmatter.value.twin === false || page.value.isNotFound
        ? null
        : h(
            'a',
            { class: 'twin', href: withBase(`/${page.value.relativePath}`), target: '_self' },
            'This page as Markdown',
          )
  },
}

export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, null, {
      'nav-bar-content-after': () => h(VersionMenu),
      'doc-after': () => h(MarkdownTwin),
      'nav-screen-content-after': () => h(VersionMenu),
    }),
}
