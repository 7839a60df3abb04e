# frozen_string_literal: true

require "rubygems"

module Bench
  module Harness
    # Finds what a contestant needs on its load path: the gems it names and theirs, nothing else, so that no contestant
    # carries another's code or Bundler in its heap.
    class GemPaths
      # @param root [String] the repository, whose own gem is named "plait"
      def initialize(root)
        @root = root
        Gem.paths = { "GEM_HOME" => Gem.dir, "GEM_PATH" => [*bundle_directories, *Gem.path].join(File::PATH_SEPARATOR) }
      end

      # @param names [Array<String>]
      # @return [Array<String>] directories, in order, each once
      # @raise [Gem::MissingSpecError] when one is not installed
      def resolve(names) = closure(names).flat_map { |spec| load_paths(spec) }.uniq

      # @param names [Array<String>]
      # @return [Array<String>] those that are not installed, or whose dependencies are not
      def missing(names)
        names.reject do |name|
          closure([name])
        rescue Gem::LoadError
          false
        end
      end

      # For this process: Plait, and those of the gems that are installed. A bench runs without Bundler.
      def load(*names)
        $LOAD_PATH.unshift(*resolve(names - missing(names)))
        require "plait"
      end

      # @param name [String]
      # @return [String, nil] the installed version
      def version(name)
        specification(Gem::Dependency.new(name)).version.to_s
      rescue Gem::LoadError
        nil
      end

      private

      def closure(names)
        found = {}
        queue = names.map { |name| Gem::Dependency.new(name) }
        while (dependency = queue.shift)
          next if found.key?(dependency.name)

          found[dependency.name] = spec = specification(dependency)
          queue.concat(spec.runtime_dependencies)
        end
        found.values
      end

      def specification(dependency)
        return own if dependency.name == "plait"

        dependency.to_spec || raise(Gem::MissingSpecError.new(dependency.name, dependency.requirement))
      end

      def own = @own ||= Gem::Specification.load(File.join(@root, "plait/plait.gemspec"))

      # Of Plait the whole family.
      def load_paths(spec) = spec.equal?(@own) ? Dir[File.join(@root, "plait*/lib")] : spec.full_require_paths

      def bundle_directories
        roots = [ENV.fetch("BUNDLE_PATH", nil), File.join(@root, "vendor/bundle")].compact
        roots.map { |path| File.join(path, Gem.ruby_engine, RbConfig::CONFIG["ruby_version"]) }.select { |path| Dir.exist?(path) }
      end
    end
  end
end
