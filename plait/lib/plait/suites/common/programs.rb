# frozen_string_literal: true

module Plait
  module Suites
    # Finds programs that are installed.
    class Programs
      # Servers live where only root's PATH leads, or in a folder for each version.
      FOLDERS = %w[/usr/sbin /usr/local/sbin /usr/lib/postgresql/*/bin /opt/homebrew/opt/*/bin /usr/local/opt/*/bin].freeze

      # @param names [Array<String>]
      # @return [String, nil] path of the first of them that is there
      def self.find(*names) = new.find(*names)

      # @param path [String] folders to look into
      # @param folders [Array<String>] more of them, as globs
      def initialize(path: ENV.fetch("PATH", ""), folders: FOLDERS)
        @folders = path.split(File::PATH_SEPARATOR) + folders.flat_map { |glob| Dir.glob(glob).reverse }
      end

      # @return [String, nil] path of the first of them that is there
      def find(*names)
        names.flat_map { |name| @folders.map { |folder| File.join(folder, name) } }
             .find { |path| File.file?(path) && File.executable?(path) }
      end

      # @param package [String] its name in Debian and Homebrew
      # @return [String] the command that installs it
      def self.install(package)
        RUBY_PLATFORM.include?("darwin") ? "brew install #{package}" : "sudo apt-get install -y #{package}"
      end
    end
  end
end
