# One image for the worker, the API server and the simulator: the command says which. Nothing is compiled; the
# programs run from their TypeScript sources.

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM node:24-slim
# The engine's client checks TLS with the system's certificates, which slim images lack.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates \
 && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json tsconfig.base.json tsconfig.json ./
COPY deploy/is-listening.mjs deploy/trial-callers.json ./deploy/
COPY examples ./examples
COPY simulator ./simulator
COPY src ./src
USER node
CMD ["node", "--import", "tsx", "src/workers/main.ts"]
