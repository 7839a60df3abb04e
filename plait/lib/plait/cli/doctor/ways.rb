# frozen_string_literal: true

require_relative "../command"
require_relative "../../mechanisms"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # Which mechanisms can be used here, and why not the others.
      class Ways < Examiner
        GROUP = "mechanisms"

        # @param registry [#names_for_jobs, #find] {Mechanisms}
        def initialize(registry: Mechanisms, root: "/")
          super(root: root)
          @registry = registry
        end

        def checks = @registry.names_for_jobs.map { |name| examine(name.to_s, name) }

        private

        def examine(label, name)
          mechanism = @registry.find(name)
          reason = mechanism.unavailable
          return missing(label, reason) if reason

          limit = mechanism.default_limit
          ok(label, limit, "available#{for_what(name)}; #{limit} at once unless told otherwise")
        rescue LoadError => e
          missing(label, "can't be loaded: #{e.message}")
        end

        def for_what(name)
          " for jobs (Plait.job), with a Redis and processes of Sidekiq" unless @registry.names.include?(name)
        end
      end
    end
  end
end
