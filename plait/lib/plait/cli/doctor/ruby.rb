# frozen_string_literal: true

require_relative "../command"
require_relative "../../native"
require_relative "../../version"
require_relative "examiner"

module Plait
  module CLI
    class Doctor < Command
      # The Ruby that runs this, and what of Plait is loaded on it.
      class Ruby < Examiner
        GROUP = "ruby"
        BUILD = "bin/setup (in a clone), or: gem pristine plait"

        def checks = [version, RUBY_ENGINE == "ruby" ? extension : twin, jit]

        private

        def version
          ok("version", RUBY_ENGINE_VERSION,
             "#{RUBY_ENGINE} #{RUBY_ENGINE_VERSION} (Ruby #{RUBY_VERSION}), #{RUBY_PLATFORM}, Plait #{Plait::VERSION}")
        end

        def twin = ok("extension", "twin", "pure Ruby: #{RUBY_ENGINE} runs no C extensions")

        def extension
          return ok("extension", "loaded", "compiled and loaded") if Native.available?

          limited("extension", "twin", "not loaded (#{Native::REASON}); pure Ruby stands in", BUILD)
        end

        def jit
          return ok("jit", RUBY_ENGINE, "part of #{RUBY_ENGINE}") unless RUBY_ENGINE == "ruby"
          return ok("jit", "YJIT", "YJIT is on") if defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?
          return ok("jit", nil, "this Ruby was built without YJIT") unless defined?(RubyVM::YJIT)

          ok("jit", nil, "YJIT is off", "to compute faster: RUBYOPT=--yjit plait lab computing")
        end
      end
    end
  end
end
