# The image of the worker, the API server, the codec server and the CLI: the command says which. Everything is compiled
# ahead. The simulator, for trials, is the target `simulator`, which runs from its sources.

# To pin it: `docker build --build-arg NODE_IMAGE=node:24-slim@sha256:…`.
ARG NODE_IMAGE=node:24-slim
FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci

FROM packages AS build
COPY tsconfig.base.json tsconfig.image.json LICENSE ./
COPY scripts ./scripts
COPY src ./src
RUN npm run build -- /built

FROM packages AS simulator
ENV NODE_ENV=production
COPY tsconfig.base.json tsconfig.json ./
COPY deploy/is-ready.mjs ./deploy/
COPY simulator ./simulator
USER 1000
CMD ["node", "--import", "tsx", "simulator/main.ts"]

FROM ${NODE_IMAGE}
# Temporal's client checks TLS with the system's certificates, which slim images lack. OpenSSL is for deploy/keys.mjs.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates openssl \
 && rm -rf /var/lib/apt/lists/*
# A cache of compiled code, so that processes start sooner.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/.compile-cache
WORKDIR /app
COPY --from=build /built ./
COPY deploy/is-ready.mjs deploy/keys.mjs ./deploy/
# Without settings, each program ends once it is loaded.
RUN for program in src/workers src/starters/api src/codec-server; do node $program/main.js || true; done
# A new volume gets the owner of the folder that it is mounted on: docker-compose.yml has one for the keys of each program.
RUN install -d -o node -g node \
  /keys/temporal /keys/temporal-client /keys/worker /keys/api /keys/codec-server /keys/prometheus /keys/operator
# For worker deployment versions: `--build-arg BUILD_ID=COMMIT`.
ARG BUILD_ID=
ENV PAYOUTS_BUILD_ID=$BUILD_ID
# By number, so that Kubernetes sees that it is not root.
USER 1000
CMD ["node", "src/workers/main.js"]
