# frozen_string_literal: true

require "plait/values/errors"
require "plait/cli/command"
require "plait/cli/exit_status"
require_relative "../../commands/rpc"
require_relative "connecting"
require_relative "values"

module Plait
  module CLI
    class Rpc < Command
      # `plait rpc call`
      class Call
        include Connecting

        # @param terminal [Terminal]
        # @param words [Array<String>] URL, method and arguments
        # @param options [Hash]
        def initialize(terminal, words, options)
          @terminal = terminal
          @url, @method, *@arguments = words
          @options = options
        end

        # @return [Integer] an {ExitStatus}
        # @raise [UsageError, RemoteError, ConnectionError, TimeoutError]
        def call
          raise UsageError, "plait rpc call needs a URL and a method, as in #{Rpc::EXAMPLES.keys.first}" unless @method

          arguments = @arguments.map { |word| Values.parse(word) }
          with_client(@url) { |client| options["notify"] ? notify(client, arguments) : ask(client, arguments) }
          ExitStatus::OK
        end

        private

        attr_reader :options

        def notify(client, arguments) = client.notify(@method, *arguments)

        def ask(client, arguments)
          @terminal.data(Values.print(client.call(@method, *arguments), json: options["json"]))
        end
      end
    end
  end
end
