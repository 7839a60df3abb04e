# frozen_string_literal: true

require "plait/cli/arguments"
require "plait/cli/command"
require_relative "../../rpc"
require "plait/values/errors"

module Plait
  module CLI
    class Rpc < Command
      # The client that options describe.
      module Connecting
        # Seconds.
        TIMEOUT = 30
        # Where the secret is: on the command line everybody on the machine could read it.
        SECRET = "PLAIT_RPC_SECRET"

        private

        # @param url [String, Io::Endpoint]
        # @yieldparam client [RPC::Client] that waits for no server that is gone
        # @return [Object] what the block returns
        def with_client(url, &block)
          RPC::Client.open(url, timeout: timeout, reconnect: 0, secret: ENV.fetch(SECRET, nil), tls: tls, &block)
        rescue CertificateError => e
          raise e.exception(e.message.sub(/as ca_file:( or cert_store:)?/, "by --cacert"))
        end

        # @return [Hash] of {Io::TLS::Client#initialize}
        def tls
          { ca_file: "cacert", certificate: "cert", key: "key" }
            .filter_map { |name, option| [name, Arguments.text("--#{option}", options[option])] if options[option] }.to_h
        end

        def timeout = options["timeout"] ? Arguments.positive("--timeout", options["timeout"]) : TIMEOUT
      end
    end
  end
end
