# syntax=docker/dockerfile:1
# The operator's image: the program, the libraries that it is linked to, and Debian's certificate authorities. No shell and
# no packages; it runs as nobody's user and writes nothing.

FROM docker.io/library/rust:1.95.0-slim-bookworm AS build
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/source/target \
    cargo build --locked --release --bin installation-operator \
    && image/root.sh target/release/installation-operator /image

FROM scratch
LABEL org.opencontainers.image.title="installation-operator"
LABEL org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image /
USER 65532:65532
ENTRYPOINT ["/installation-operator"]
CMD ["controller", "--leader-elect"]
