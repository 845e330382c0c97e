# A static binary in an empty image: docker build -t weft . && docker run --rm weft version
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /weft ./cmd/weft && mkdir /data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /data /data
COPY --from=build /weft /weft
USER 65532:65532
ENV WEFT_STORE=sqlite:/data/weft.db
VOLUME /data
ENTRYPOINT ["/weft"]
