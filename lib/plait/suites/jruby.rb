# frozen_string_literal: true

require "rbconfig"

module Plait
  module Suites
    # The other Ruby, whose threads compute in parallel: where it is on this machine, and how to start it.
    class JRuby
      ADVICE = "On JRuby threads compute in parallel. To see that in a table of its own, have `jruby` (9.4 or later) " \
               "in the PATH, or run `gem install jruby-jars -v '~> 9.4.0'` and have `java` (8 or later) in the PATH."
      JARS = "gems/jruby-jars-9.4*/lib/jruby-*.jar"

      class << self
        # @return [JRuby, nil] nil where there is none
        def find
          command = installed || from_jars
          command && new(command)
        end

        # @return [JRuby] the one that is running this
        def current
          return new([RbConfig.ruby]) unless RbConfig.ruby.start_with?("uri:") # a file within the jars

          java = File.join(ENV_JAVA.fetch("java.home"), "bin", "java")
          new([java, "-cp", ENV_JAVA.fetch("java.class.path"), "org.jruby.Main"])
        end

        private

        def installed
          path = executable("jruby")
          path && [path]
        end

        # Looked for in the folders of the gems rather than among those of the bundle, which need not name it.
        def from_jars
          jars = Gem.path.flat_map { |folder| Dir.glob(File.join(folder, JARS)) }
          newest = jars.group_by { |jar| version(jar) }.max
          java = executable("java")
          [java, "-cp", newest.last.join(File::PATH_SEPARATOR), "org.jruby.Main"] if newest && java
        end

        def version(jar) = Gem::Version.new(jar[%r{jruby-jars-([\d.]+)/}, 1])

        def executable(name)
          ENV.fetch("PATH", "").split(File::PATH_SEPARATOR).map { |folder| File.join(folder, name) }
             .find { |path| File.file?(path) && File.executable?(path) }
        end
      end

      # @return [Array<String>] what to start, without arguments
      attr_reader :command

      def initialize(command)
        @command = command
      end
    end
  end
end
