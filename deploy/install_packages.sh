#!/bin/sh
# Installs the pinned packages of an accelerator into a virtual environment that has uv.
#   install_packages.sh cpu|cu12|cu13 ENVIRONMENT
set -eu
accelerator=$1
environment=$2

install() {
    "$environment/bin/uv" pip install --quiet --no-cache --python "$environment/bin/python" "$@"
}

case "$accelerator" in
cpu)
    # The lock has what development needs, too: as constraints it only pins.
    "$environment/bin/uv" pip compile --quiet --no-header --no-emit-index-url --python "$environment/bin/python" \
        --extra cluster -c requirements.lock pyproject.toml -o /tmp/requirements-cpu.lock
    install -r /tmp/requirements-cpu.lock
    ;;
cu12) install -r requirements-cu12.lock ;;
cu13) install -r requirements-gpu.lock ;;
*)
    echo "ACCELERATOR is cpu, cu12 or cu13, not \"$accelerator\"" >&2
    exit 2
    ;;
esac
# `gpudb backup` and `gpudb sql` are clients, too; a server may send traces.
install -c requirements.lock "psycopg[binary]" opentelemetry-exporter-otlp-proto-http opentelemetry-sdk
