# frozen_string_literal: true

require_relative "../command"
require_relative "examiner"
require_relative "programs"
require_relative "../../suites/common/jruby"

module Plait
  module CLI
    class Doctor < Command
      # JRuby, where threads compute at the same time: worth having beside CRuby.
      class JRuby < Examiner
        GROUP = "jruby"
        JARS = "jruby-jars"
        INSTALL_JARS = "gem install jruby-jars -v \"~> 9.4.0\""
        JAVA = "default-jre-headless"

        # @param programs [Programs]
        # @param jars [String, nil] version of the gem
        def initialize(programs: Programs.new, jars: Suites::JRuby.jars_version, root: "/")
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

        def advice(java) = [(INSTALL_JARS unless @jars), (Programs.install(JAVA) unless java)].compact.join(" && ")
      end
    end
  end
end
