# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"

module Bench
  module Harness
    # Compiles the C programs of a bench (the floors, the load generators) into an ignored folder, when they are newer.
    module Native
      DIRECTORY = File.expand_path("../../tmp/bench", __dir__)
      FLAGS = %w[-std=gnu11 -O2 -Wall -Wextra -Werror].freeze
      # What all of them include.
      HEADER = File.join(__dir__, "program.h")

      module_function

      # @param source [String] path of a C file
      # @return [String] path of the program
      # @raise [RuntimeError] with the compiler's words
      def build(source)
        program = program_for(source)
        compile(source, program) unless FileUtils.uptodate?(program, [source, HEADER])
        program
      end

      # Builds all C files of a folder.
      def build_all(folder) = Dir[File.join(folder, "*.c")].each { |source| build(source) }

      # Runs a program that measures itself.
      # @param program [String] path
      # @return [Hash{String => Object}] what it has printed as JSON
      # @raise [RuntimeError] where it fails
      def measure(program, *arguments, **options)
        output, status = Open3.capture2(program, *arguments.map(&:to_s), **options)
        raise "#{program} failed: #{status}" unless status.success?

        JSON.parse(output)
      end

      # @return [String, nil] the first line of what the compiler says of its version
      def compiler = `#{ENV.fetch("CC", "cc")} --version`.lines.first&.strip

      # @return [String] where the program of that source is, built or not
      def program_for(source)
        subject = File.basename(File.dirname(source))
        File.join(DIRECTORY, "#{subject}-#{File.basename(source, ".c")}")
      end

      # Moved into place when complete: several benches may start at once.
      def compile(source, program)
        FileUtils.mkdir_p(DIRECTORY)
        draft = "#{program}.#{Process.pid}"
        output, status = Open3.capture2e(ENV.fetch("CC", "cc"), *FLAGS, "-o", draft, source)
        raise "#{source} does not compile:\n#{output}" unless status.success?

        File.rename(draft, program)
      end
      private_class_method :compile
    end
  end
end
