# frozen_string_literal: true

require "rubygems"
require_relative "workspace"

module Support
  class Matrix
    # A Ruby that is installed on this machine.
    class Installed
      PLACES = %w[~/.rbenv/versions ~/.asdf/installs/ruby ~/.local/share/mise/installs/ruby ~/.rubies /opt/rubies
                  ~/.rvm/rubies].freeze
      NAMES = "{ruby,ruby[0-9]*,jruby}"
      OLDEST = Gem::Version.new("3.1")

      class << self
        # @return [Array<Installed>] the newest of each minor version, of which one that is named comes before all others
        def all
          named = ENV.fetch("PLAIT_RUBIES", "").split(":").filter_map { |path| identify(path) }
          found = paths.filter_map { |path| identify(path) }.sort_by(&:version).reverse.uniq(&:minor)
          [*named, *found.reject { |ruby| named.any? { |one| one.minor == ruby.minor } }].sort_by(&:minor)
        end

        private

        def paths
          folders = [*PLACES.flat_map { |place| Dir["#{File.expand_path(place)}/*/bin"] }, *ENV["PATH"].split(":")]
          programs = folders.flat_map { |folder| Dir.glob(NAMES, base: folder).map { |name| File.join(folder, name) } }
          programs.map { |path| File.realpath(path) }.uniq
        end

        def identify(path)
          code = "puts RUBY_ENGINE, RUBY_ENGINE_VERSION, RUBY_VERSION"
          engine, version, language = IO.popen([path, "-e", code, { err: File::NULL }], &:read).split
          new(path, engine, Gem::Version.new(version)) if language && Gem::Version.new(language) >= OLDEST
        rescue SystemCallError
          nil
        end
      end

      attr_reader :engine, :version

      # @param path [String]
      # @param engine [String] "ruby", "jruby"
      # @param version [Gem::Version] of the engine
      def initialize(path, engine, version)
        @path = path
        @engine = engine
        @version = version
      end

      def name = "#{@engine} #{@version}"

      def minor = [@engine, @version.segments.first(2)]

      def here? = true

      def prepare = nil

      # @param run [Run]
      # @return [Row]
      def test(folder, arguments, run) = run.call(environment, @path, "bin/test", *arguments, chdir: folder)

      private

      # Nothing of the Ruby and the Bundler that run this.
      def environment
        %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE BUNDLE_PATH].to_h { |name| [name, nil] }
      end
    end
  end
end
