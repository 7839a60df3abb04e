# frozen_string_literal: true

require_relative "../../suites/common/jruby"
require_relative "../../suites/common/programs"
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
          "memory_profiler" => "counts what plait lab allocates",
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

        # A gem outside the bundle isn't found, wherever it is installed.
        def installation(name)
          return "gem install #{name}" unless bundle

          File.exist?(File.join(File.dirname(bundle), "plait/plait.gemspec")) ? "bin/setup drivers peers" : "bundle add #{name}"
        end

        # @return [String, nil] its Gemfile
        def bundle = ENV["BUNDLE_GEMFILE"].to_s.then { |path| path unless path.empty? }
      end

      # Programs that tests of Plait drive. Users don't need them.
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

        def initialize(programs: Suites::Programs.new, root: "/")
          super(root: root)
          @programs = programs
        end

        def checks = NAMES.map { |package, names| examine(package, @programs.find(*names)) }

        private

        def examine(package, path)
          return ok(package, path, path) if path

          missing(package, "not found; only tests use it", Suites::Programs.install(package))
        end
      end

      # JRuby, where threads compute at the same time: worth having beside CRuby.
      class JRuby < Examiner
        GROUP = "jruby"
        JARS = "jruby-jars"
        INSTALL_JARS = "gem install jruby-jars -v \"~> 9.4.0\""
        JAVA = "default-jre-headless"

        # @param jars [String, nil] version of the gem
        def initialize(programs: Suites::Programs.new, jars: Suites::JRuby.jars_version, root: "/")
          super(root: root)
          @programs = programs
          @jars = jars
        end

        def checks = [RUBY_ENGINE == "jruby" ? itself : beside]

        private

        def itself = ok("jruby", RUBY_ENGINE_VERSION, "this is JRuby #{RUBY_ENGINE_VERSION}")

        def beside
          jruby = @programs.find("jruby")
          return ok("jruby", jruby, jruby) if jruby

          java = @programs.find("java")
          return ok("jruby", @jars, "the gem #{JARS} #{@jars}, run by #{java}") if @jars && java

          missing("jruby", "not found; on it threads would compute at the same time", advice(java))
        end

        def advice(java) = [(INSTALL_JARS unless @jars), (Suites::Programs.install(JAVA) unless java)].compact.join(" && ")
      end
    end
  end
end
