# frozen_string_literal: true

require "rbconfig"
require_relative "programs"

module Plait
  module Suites
    # The other Ruby, whose threads compute in parallel: where it is on this machine, and how to start it.
    class JRuby
      ADVICE = "On JRuby threads compute in parallel. To see that in a table of its own, have `jruby` (9.4 or later) " \
               "in the PATH, or run `gem install jruby-jars -v '~> 9.4.0'` and have `java` (8 or later) in the PATH."
      LIB = "gems/jruby-jars-9.4*/lib"
      JARS = "jruby-*.jar"
      # Where Bundler keeps what it has replaced.
      HIDDEN = %w[BUNDLER_ORIG_GEM_HOME BUNDLER_ORIG_GEM_PATH].freeze

      class << self
        # @return [JRuby, nil] nil where there is none
        def find
          command = installed || from_jars
          command && new(command)
        end

        # @return [String, nil] version of the newest gem jruby-jars that is here
        def jars_version = newest_lib && version(newest_lib).to_s

        # @return [JRuby] the one that is running this
        def current
          return new([RbConfig.ruby]) unless RbConfig.ruby.start_with?("uri:") # a file within the jars

          java = File.join(ENV_JAVA.fetch("java.home"), "bin", "java")
          new([java, "-cp", ENV_JAVA.fetch("java.class.path"), "org.jruby.Main"])
        end

        private

        def installed = Programs.find("jruby")&.then { |path| [path] }

        def from_jars
          lib = newest_lib
          java = Programs.find("java")
          return unless lib && java

          jars = Dir.glob(JARS, base: lib).sort.map { |jar| File.join(lib, jar) }
          [java, "-cp", jars.join(File::PATH_SEPARATOR), "org.jruby.Main"]
        end

        def newest_lib = folders.flat_map { |folder| Dir.glob(File.join(folder, LIB)) }.max_by { |lib| version(lib) }

        # The folders of the bundle, which need not name the gem, and the folders that `gem install` fills.
        def folders
          hidden = ENV.values_at(*HIDDEN).compact.flat_map { |value| value.split(File::PATH_SEPARATOR) }
          [*Gem.path, *hidden, Gem.default_dir, Gem.user_dir].uniq
        end

        def version(lib) = Gem::Version.new(lib[%r{jruby-jars-([\d.]+)/}, 1])
      end

      # @return [Array<String>] what to start, without arguments
      attr_reader :command

      def initialize(command)
        @command = command
      end
    end
  end
end
