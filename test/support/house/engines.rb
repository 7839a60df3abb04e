# frozen_string_literal: true

require "tsort"

module Support
  module House
    # The C of the extensions: engines know libc only; bindings (rb_*.c) join them with Ruby, and the first file of an extension
    # (plait_io.c) starts the bindings. A folder is an engine with its bindings; arrows between folders go one way.
    class Engines
      # A function that other files may call: its name at the beginning of a line, and a body.
      DEFINITION = /^(?!static\b)[a-zA-Z_][\w ]*?[ *]+([a-z_]\w*)\([^;{]*\)\s*\{/
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

      # @return [Array<String>] folders that need each other, and engines that need a binding, which is above them
      def running_back
        folders = circles(arrows.group_by(&:first).transform_values { |pairs| pairs.map(&:last) })
        above = pairs.select { |from, to| !binding?(from) && binding?(to) }
        folders.map { |all| "need each other: #{all.sort.join(", ")}" } +
          above.map { |from, to| "#{from} needs #{to}, which is above it" }
      end

      # @return [Array<Array<String>>] files that need each other by calls, the largest circle first
      def circles_of_files = circles(calls).map(&:sort).sort_by { |files| [-files.size, files] }

      # @return [Array<(String, String)>] folders, as an arrow from the one that needs the other
      def arrows
        folders = pairs.map { |pair| pair.map { |path| File.dirname(path) } }
        folders.uniq.reject { |from, to| from == to }.sort
      end

      # @return [Array<String>]
      def folders = @sources.keys.map { |path| File.dirname(path) }.uniq.sort

      private

      # The first file of an extension starts the bindings: it stands above all folders.
      def first?(path) = path.match?(%r{/ext/(\w+)/\1\.[ch]\z})

      # @param graph [Hash{String => Array<String>}]
      def circles(graph)
        children = ->(node, &block) { graph.fetch(node, []).each(&block) }
        TSort.strongly_connected_components(graph.method(:each_key), children).select { |all| all.size > 1 }
      end

      def pairs = uses.flat_map { |from, others| others.map { |to| [from, to] } }

      # @return [Hash{String => Array<String>}] of each file the ones that it includes, or whose functions it calls
      def uses
        @uses ||= @sources.keys.reject { |path| first?(path) }.to_h { |path| [path, included(path) | calls.fetch(path, [])] }
      end

      def included(path)
        @sources[path].scan(INCLUDE).filter_map do |quote, name|
          local = File.expand_path(name, "/#{File.dirname(path)}").delete_prefix("/")
          local if quote == '"' && @sources.key?(local) && !first?(local)
        end
      end

      def calls
        @calls ||= bodies.to_h do |path, text|
          [path, text.scan(/\b[a-z_]\w*\b/).uniq.filter_map { |name| defined_at(path, name) }.uniq]
        end
      end

      def defined_at(path, name)
        other = definitions[name]
        other if other && other != path && extension(other) == extension(path)
      end

      def definitions
        @definitions ||= bodies.flat_map { |path, text| text.scan(DEFINITION).map { |(name)| [name, path] } }.to_h
      end

      def bodies
        @bodies ||= @sources.select { |path, _| path.end_with?(".c") && !first?(path) }
                            .transform_values { |text| text.gsub(COMMENT, "") }
      end

      def extension(path) = path[%r{\A[^/]+}]

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
