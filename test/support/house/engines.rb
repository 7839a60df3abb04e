# frozen_string_literal: true

module Support
  module House
    # The C of the extension: engines know libc only; bindings (rb_*.c) and plait.c join them with Ruby.
    class Engines
      INCLUDE = /^\s*#\s*include\s*(["<])([^">]+)[">]/
      RUBY = %r{\Aruby(\.h|/)}
      # Ruby's own names, in an engine that got them without the include.
      API = /\b(VALUE|rb_[a-z]\w*|ruby_x\w+|RB_[A-Z]\w*|RSTRING_\w+)\b/
      COMMENT = %r{/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"}m

      # @param root [String] the folder of the project
      def self.read(root)
        new(Dir.glob("plait*/ext/**/*.{c,h}", base: root).to_h { |path| [path, File.read(File.join(root, path))] })
      end

      # @param sources [Hash{String => String}] path => C
      def initialize(sources)
        @sources = sources
      end

      # @return [Array<String>] engines that know Ruby
      def bound_to_ruby = engines.flat_map { |path| includes_of_ruby(path) + names_of_ruby(path) }

      private

      def engines = @sources.keys.select { |path| path.end_with?(".c") && !binding?(path) }

      def binding?(path) = File.basename(path).start_with?("rb_", "plait.", "plait_")

      # Also through headers of ours.
      def includes_of_ruby(path, seen = [])
        @sources[path].to_s.scan(INCLUDE).flat_map do |quote, name|
          next "#{path} includes #{name}" if RUBY.match?(name)

          local = File.expand_path(name, "/#{File.dirname(path)}").delete_prefix("/")
          quote == '"' && !seen.include?(local) ? includes_of_ruby(local, seen << local) : []
        end
      end

      def names_of_ruby(path)
        @sources[path].gsub(COMMENT, "").scan(API).flatten.uniq.map { |name| "#{path} names #{name}" }
      end
    end
  end
end
