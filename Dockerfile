# The program with its reference service: `docker build -t turnpike:local .`
ARG NODE=node:20.20.2-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0

FROM ${NODE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json build.mjs ./
COPY src src
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM ${NODE}
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY package.json LICENSE THIRD_PARTY.md ./
COPY scenarios scenarios
COPY docs/examples docs/examples
# The only folder that a run writes to; a new volume inherits its owner.
RUN mkdir runs && chown node:node runs
USER node
EXPOSE 8402 9464
ENTRYPOINT ["node", "dist/main.js"]
CMD ["--help"]
