# frozen_string_literal: true

require_relative "../command"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # Gems that Plait works with and does not need.
      class OptionalGems < Examiner
        GROUP = "gems"
        USES = {
          "async" => "Plait runs inside its loop too",
          "redis-client" => "Redis, also under fibers",
          "pg" => "PostgreSQL, also under fibers",
          "trilogy" => "MySQL and MariaDB, also under fibers",
          "mysql2" => "MySQL and MariaDB",
          "concurrent-ruby" => "what Plait is measured against",
          "parallel" => "what Plait is measured against"
        }.freeze

        # @return [String, nil] the version that would be loaded
        def self.version(name)
          Gem::Specification.find_by_name(name).version.to_s
        rescue Gem::MissingSpecError
          nil
        end

        def checks = USES.map { |name, use| examine(name, use, OptionalGems.version(name)) }

        private

        def examine(name, use, version)
          return ok(name, version, "#{version} (#{use})") if version

          missing(name, "not #{bundled? ? "in this bundle" : "installed"} (#{use})", "gem install #{name}")
        end

        def bundled? = !ENV["BUNDLE_GEMFILE"].to_s.empty?
      end
    end
  end
end
