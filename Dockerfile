# One image for the worker, the service and the simulator: the command says which. Nothing is compiled; the
# programs run from their TypeScript sources.

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev

FROM node:24-slim
# Temporal's client checks TLS with the system's certificates, which slim images lack. OpenSSL is for deploy/keys.mjs.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates openssl \
 && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json tsconfig.base.json tsconfig.json ./
COPY deploy/is-ready.mjs deploy/keys.mjs ./deploy/
COPY examples ./examples
COPY simulator ./simulator
COPY src ./src
# A new volume gets the owner of the folder that it is mounted on: docker-compose.yml has one for the keys of each program.
RUN install -d -o node -g node \
  /keys/temporal /keys/temporal-client /keys/worker /keys/api /keys/codec-server /keys/prometheus /keys/operator
# By number, so that Kubernetes sees that it is not root.
USER 1000
CMD ["node", "--import", "tsx", "src/workers/main.ts"]
