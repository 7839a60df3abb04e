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
        # @return [Array<Installed>] the newest of each minor version
        def all
          rubies = paths.filter_map { |path| identify(path) }
          return rubies if ENV["PLAIT_RUBIES"]

          rubies.group_by { |ruby| [ruby.engine, *ruby.version.segments.first(2)] }.values
                .map { |same| same.max_by(&:version) }
        end

        private

        def paths
          return ENV["PLAIT_RUBIES"].split(":") if ENV["PLAIT_RUBIES"]

          folders = [*PLACES.flat_map { |place| Dir["#{File.expand_path(place)}/*/bin"] }, *ENV["PATH"].split(":")]
          programs = folders.flat_map { |folder| Dir.glob(NAMES, base: folder).map { |name| File.join(folder, name) } }
          programs.map { |path| File.realpath(path) }.uniq
        end

        def identify(path)
          answer = IO.popen([path, "-e", "puts RUBY_ENGINE, RUBY_VERSION", { err: File::NULL }], &:read)
          engine, version = answer.split
          new(path, engine, Gem::Version.new(version)) if version && Gem::Version.new(version) >= OLDEST
        rescue SystemCallError
          nil
        end
      end

      attr_reader :engine, :version

      # @param path [String]
      # @param engine [String] "ruby", "jruby"
      # @param version [Gem::Version] of the language
      def initialize(path, engine, version)
        @path = path
        @engine = engine
        @version = version
      end

      def name = "#{@engine} #{@version}"

      # @return [Boolean] whether the tests passed
      def test(folder, arguments)
        system(environment, @path, "bin/test", *arguments, chdir: folder) || false
      end

      private

      # Nothing of the Ruby and the Bundler that run this.
      def environment
        %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE BUNDLE_PATH].to_h { |name| [name, nil] }
      end
    end
  end
end
