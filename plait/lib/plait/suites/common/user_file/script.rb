# frozen_string_literal: true

require_relative "../../../lab"
require_relative "../../../mechanisms"

module Plait
  module Suites
    class UserFile
      # The modules of the files that were read, each under the name of its file: what a file defines needs a name, for
      # Marshal to carry it between processes, and for messages. A file may have the name of a class: ::File.
      module Files
        # @return [Module] the same; it has the name of one that was read before from a file of that name
        def self.add(path, script)
          name = constant(path)
          remove_const(name) if const_defined?(name, false)
          const_set(name, script)
        end

        # @return [String] "ResizePictures" for "resize-pictures.rb"
        def self.constant(path)
          words = ::File.basename(path, ".rb").scan(/[A-Za-z0-9]+/).map { |word| word[0].upcase + word[1..] }
          words.join.match?(/\A[A-Z]/) ? words.join : "File#{words.join}"
        end
        private_class_method :constant
      end
      private_constant :Files

      # The file, evaluated: a module of its own, so that the file's methods and constants are at hand in its blocks and
      # nowhere else, and so that its blocks may run in ractors, which share modules but no other self.
      class Script < Module
        BLOCKS = %i[setup items body digest teardown].freeze
        private_constant :BLOCKS

        EXAMPLES = { items: "items { (1..50).to_a }", body: "body { |item| work(item) }" }.freeze

        class << self
          # @return [Script]
          # @raise [UsageError]
          def load(path)
            source = read(path)
            script = Files.add(path, new(File.expand_path(path)))
            guard(path) { EVALUATE.call(script, source, File.expand_path(path)) }
            script.check(path)
          end

          # Runs what the user has written; an exception becomes a sentence that names file and line.
          # @raise [UsageError]
          def guard(path)
            owner = Process.pid
            yield
          rescue UsageError, SignalException, NoMemoryError
            raise
          rescue SyntaxError => e
            raise UsageError, "#{path} does not parse: #{syntax(e, path)}"
          rescue LoadError => e
            raise UsageError, "#{place(e, path)}: #{e.class}: #{Lab::Text.clean(e.message)}#{gems_in_sight}"
          rescue SystemExit => e
            raise UsageError, "#{place(e, path)} calls exit; what is measured must come to its end by itself"
          rescue Exception => e # rubocop:disable Lint/RescueException -- a stack too deep is none of ours either
            raise UsageError, "#{place(e, path)}: #{e.class}: #{Lab::Text.clean(e.message).lines.first.to_s.strip}"
          ensure
            exit!(0) unless Process.pid == owner # what the file has forked ends where the file does
          end

          private

          # From a clone of Plait it is Plait's own bundle, and not that of the project the file belongs to.
          def gems_in_sight
            gemfile = ENV["BUNDLE_GEMFILE"].to_s
            return if gemfile.empty?

            "; only the gems of #{gemfile} can be seen here: run `bundle exec plait` with a Gemfile that names plait and " \
              "what the file requires"
          end

          def place(error, path) = [path, line(error, path)].compact.join(":")

          def read(path)
            return File.read(path, encoding: Encoding::UTF_8) unless File.pipe?(path)

            piped(path)
          rescue SystemCallError => e
            raise UsageError, "#{path} can't be read: #{SystemReason.of(e)}"
          end

          # A pipe, as `<(…)` of a shell gives. A plain open would wait without end for a writer.
          def piped(path)
            source = File.open(path, File::RDONLY | File::NONBLOCK, encoding: Encoding::UTF_8, &:read)
            return source unless source.empty?

            raise UsageError, "#{path} is a pipe, and no program writes to it; name a file, or start the program that writes " \
                              "to it first"
          end

          def line(error, path)
            file = File.expand_path(path)
            error.backtrace_locations&.find { |place| place.path == file }&.lineno
          end

          # Without the folder, which the message has already, and without the picture that some Rubies draw.
          def syntax(error, path)
            text = error.message.gsub(File.expand_path(path), File.basename(path))
            text.lines.map(&:strip).reject(&:empty?).first(2).join(" ")
          end
        end

        # @return [Hash{Symbol => Proc}]
        attr_reader :blocks
        # @return [String, nil]
        attr_reader :heading, :unit_name
        # @return [Array<Symbol, Array<Symbol>>, nil]
        attr_reader :mechanisms
        # @return [Array<Integer>, nil]
        attr_reader :limits

        # @param path [String] absolute
        def initialize(path)
          super()
          @path = path
          @blocks = {}
          extend(self)
        end

        BLOCKS.each do |name|
          define_method(name) do |&block|
            refuse("#{name} needs a block, e.g. #{EXAMPLES.fetch(name, "#{name} { … }")}") unless block
            refuse("there is a second #{name}") if @blocks.key?(name)
            @blocks[name] = block
          end
        end

        def title(text) = @heading = text.to_s

        # @param plural [String] what an item is, in the plural
        def unit(plural) = @unit_name = plural.to_s

        # @param mechanisms [Array<Symbol, Array<Symbol>>]
        def on(*mechanisms)
          right = mechanisms.any? && mechanisms.all? { |one| one.is_a?(Symbol) || one.is_a?(Array) }
          refuse("on needs mechanisms, e.g. on :threads, :fibers, %i[processes threads]") unless right
          mechanisms.each { |one| known(one) }
          @mechanisms = mechanisms
        end

        # @param numbers [Array<Integer>]
        def limit(*numbers)
          right = numbers.any? && numbers.all? { |number| number.is_a?(Integer) && number.positive? }
          refuse("limit needs whole numbers from 1 up, e.g. limit 1, 8, 64") unless right
          @limits = numbers
        end

        # @return [Script] itself
        # @raise [UsageError] when a part is missing
        def check(path)
          missing = EXAMPLES.reject { |name,| @blocks.key?(name) }
          return self if missing.empty?

          raise UsageError, "#{path} has no #{missing.keys.join(" and no ")}; add #{missing.values.join(" and ")}"
        end

        private

        def known(mechanism)
          Mechanisms.find(mechanism)
        rescue UsageError => e
          refuse(e.message)
        end

        def refuse(reason)
          line = caller_locations.find { |location| location.path == @path }&.lineno
          raise UsageError, "#{[File.basename(@path), line].compact.join(":")}: #{reason}"
        end
      end
    end
  end
end

# Out here, where no module is around it: a file's HTTP is the one of its own program, not Plait::HTTP.
Plait::Suites::UserFile::Script::EVALUATE = ->(script, source, path) { script.module_eval(source, path, 1) }
