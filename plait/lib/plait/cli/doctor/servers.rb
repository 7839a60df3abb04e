# frozen_string_literal: true

require_relative "../command"
require_relative "examiner"
require_relative "programs"

module Plait
  module CLI
    class Doctor < Command
      # Programs that tests of Plait drive. Nobody else needs them.
      class Servers < Examiner
        GROUP = "servers"
        # Package => what its program may be called.
        NAMES = {
          "redis-server" => %w[redis-server valkey-server],
          "mariadb-server" => %w[mariadbd mysqld],
          "postgresql" => %w[postgres],
          "nginx" => %w[nginx],
          "haproxy" => %w[haproxy],
          "apache2-bin" => %w[apache2 httpd],
          "chromium" => %w[chromium chromium-browser google-chrome]
        }.freeze

        # @param programs [Programs]
        def initialize(programs: Programs.new, root: "/")
          super(root: root)
          @programs = programs
        end

        def checks = NAMES.map { |package, names| examine(package, @programs.find(*names)) }

        private

        def examine(package, path)
          return ok(package, path, path) if path

          missing(package, "not found; only tests use it", Programs.install(package))
        end
      end
    end
  end
end
