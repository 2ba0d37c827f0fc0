-- Tells the server what became of suggestions, so that `midtoken stats` can count them. The server
-- keeps numbers only, on this machine.

local M = {}

local shown = {} ---@type table<integer, boolean> buffers with a suggestion that was not decided on

---@param client_id integer
---@param method string
---@param buffer integer
---@param more table?
local function tell(client_id, method, buffer, more)
  local client = vim.lsp.get_client_by_id(client_id)
  if client then
    local document = { uri = vim.uri_from_bufnr(buffer) }
    client:notify(method, vim.tbl_extend('error', { textDocument = document }, more or {}))
  end
end

--- Note that so many characters of the suggestion in the current buffer were taken.
---@param client_id integer
---@param length integer
function M.accepted(client_id, length)
  local buffer = vim.api.nvim_get_current_buf()
  shown[buffer] = nil
  tell(client_id, 'midtoken/didAccept', buffer, { length = length })
end

--- Watch a buffer's ghost text: what is shown, and what is gone when insert mode is left.
---@param client_id integer
---@param buffer integer
function M.watch(client_id, buffer)
  local group = vim.api.nvim_create_augroup('midtoken.notes.' .. buffer, {})
  vim.api.nvim_create_autocmd('LspRequest', {
    group = group,
    buffer = buffer,
    callback = function(event)
      local request = event.data.request
      if request.type ~= 'complete' or request.method ~= 'textDocument/inlineCompletion' then
        return
      end
      vim.schedule(function()
        if vim.api.nvim_buf_is_valid(buffer) and require('midtoken.ghost').is_shown(buffer) then
          shown[buffer] = true
          tell(client_id, 'midtoken/didShow', buffer)
        end
      end)
    end,
  })
  vim.api.nvim_create_autocmd('InsertLeave', {
    group = group,
    buffer = buffer,
    callback = function()
      if shown[buffer] then
        shown[buffer] = nil
        tell(client_id, 'midtoken/didReject', buffer)
      end
    end,
  })
end

return M
