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
          "sqlite3" => "SQLite",
          "mongo" => "MongoDB, also under fibers",
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

          missing(name, "not #{bundle ? "in this bundle" : "installed"} (#{use})", installation(name))
        end

        # What is not in a bundle isn't found in it, wherever it is installed.
        def installation(name)
          return "gem install #{name}" unless bundle

          File.exist?(File.join(File.dirname(bundle), "plait/plait.gemspec")) ? "bin/setup drivers peers" : "bundle add #{name}"
        end

        # @return [String, nil] its Gemfile
        def bundle = ENV["BUNDLE_GEMFILE"].to_s.then { |path| path unless path.empty? }
      end
    end
  end
end
